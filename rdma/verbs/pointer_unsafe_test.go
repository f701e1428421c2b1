//go:build linux && cgo && rdmacore

package verbs

import "unsafe"

func pointerTo[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }
