//go:build race

package posix_test

const raceEnabled = true
