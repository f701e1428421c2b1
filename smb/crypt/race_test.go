//go:build race

package crypt

// Under the race detector sync.Pool drops items at random.
const racing = true
