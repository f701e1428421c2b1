//go:build !race

package vfstest

const raceEnabled = false
