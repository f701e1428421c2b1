//go:build race

package vfstest

// raceEnabled scales the large tests down; allocations are not counted.
const raceEnabled = true
