// Package proto is the vocabulary of NFSv4.1 and 4.2: numbers, and the small types the
// package state and the operations share (RFC 8881, 7862, 8276).
package proto
