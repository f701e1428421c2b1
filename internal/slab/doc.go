// Package slab keeps the server's data buffers: memory outside the Go heap, in
// arenas that a provider registers once, cut into reference-counted buffers.
//
// A [Buf] has exactly one owner per reference. Whoever calls [Pool.Get] owns
// the buffer and hands it on, or releases it; to share it, Retain first and hand
// the new reference on. Release of a buffer that has no reference left panics.
//
// The pool is bounded. Where it is exhausted Get waits, first come first
// served, until memory is released or the context ends: back-pressure instead of
// failure. To rule out deadlock, a request takes all the buffers it needs in one
// call of Get (one buffer, cut by its user), never a second while holding one;
// what a connection holds permanently (its receives) it takes before it is
// accepted, with [Pool.TryGet].
package slab
