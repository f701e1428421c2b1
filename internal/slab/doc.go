// Package slab keeps the server's data buffers: memory outside the Go heap, in
// arenas that a provider registers once, cut into reference-counted buffers.
//
// Each reference to a [Buf] has exactly one owner. The caller of [Pool.Get] owns the buffer, and hands the reference on or
// releases it. To share the buffer, it calls Retain first and hands the new reference on. Release of a buffer without a
// reference panics.
//
// The pool is bounded. If it is exhausted, Get waits until memory is released or the context ends; waiting calls are served in
// order of arrival. To rule out deadlock, a request takes all its memory in one call of Get and never calls Get while it holds a
// buffer. Memory that a connection holds permanently (its receives) is taken with [Pool.TryGet], which does not wait.
package slab
