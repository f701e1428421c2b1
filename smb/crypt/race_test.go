//go:build race

package crypt

// Under the race detector sync.Pool forgets on purpose.
const racing = true
