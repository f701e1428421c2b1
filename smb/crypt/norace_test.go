//go:build !race

package crypt

const racing = false
