//go:build !race

package iwarp

const slack = 1
