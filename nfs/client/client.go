package client

import (
	"context"
	"time"

	"fileserver/nfs/xdr"
)

// Stability says how stable a WRITE must be (stable_how of RFC 1813 3.3.7 and RFC 8881 18.32).
type Stability uint32

// Stabilities.
const (
	Unstable Stability = 0
	DataSync Stability = 1
	FileSync Stability = 2
)

// Verifier changes when the server may have lost data that was written but not committed (RFC 1813 3.3.7).
type Verifier [8]byte

// Client is a mounted export. Its methods are safe for concurrent use.
type Client interface {
	// Version is "3", "4.1" or "4.2".
	Version() string
	// MaxRead and MaxWrite return the most bytes that one call moves.
	MaxRead() int
	MaxWrite() int
	// Slots returns how many calls may be outstanding, or 0 if the server does not say.
	Slots() int
	// Open opens a file for reading and writing. With create it creates the file if it does not exist. Slashes separate the
	// directories in name.
	Open(ctx context.Context, name string, create bool) (File, error)
	// Remove removes a file.
	Remove(ctx context.Context, name string) error
	// Close unmounts, and closes the Caller.
	Close(ctx context.Context) error
}

// File is an open file. Its methods are safe for concurrent use.
type File interface {
	// Size returns the size in bytes when the file was opened.
	Size() uint64
	// NewIO returns an IO for requests of at most n bytes. One goroutine uses it.
	NewIO(ctx context.Context, n int) (IO, error)
	// Commit makes written data stable.
	Commit(ctx context.Context) (Verifier, error)
	Close(ctx context.Context) error
}

// IO reads and writes a file. One goroutine uses it.
type IO interface {
	// Data returns the memory for the data to write. Reads overwrite it.
	Data() []byte
	// Read reads n bytes at off. Less than n bytes means the end of the file. The result is valid until the next call.
	Read(ctx context.Context, off uint64, n int) ([]byte, error)
	// Write writes the first n bytes of Data at off, and returns how many the server wrote. n must be
	// a multiple of 4, because the data is not padded.
	Write(ctx context.Context, off uint64, n int, how Stability) (int, Verifier, error)
	// Slot returns the slot that makes the calls.
	Slot() Slot
	Release() error
}

// Options configure a mount.
type Options struct {
	Host string // the server's name or address
	Path string // of the export
	Cred Cred
	// MountAddr is the address of the MOUNT program for version 3 ("host:port"). If it is empty, the client tries the
	// connection itself, and then the port that rpcbind names.
	MountAddr string
	// MaxIO and Slots size the session of version 4: the bytes of a request's data, and the requests at once.
	MaxIO, Slots int
	// Notice is called with a text when the client has to wait for the server; nil: not called.
	Notice func(string)
}

// pause waits before a retry, longer each time.
func pause(ctx context.Context, try int) error {
	t := time.NewTimer(min(10*time.Millisecond<<min(try, 10), time.Second))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// io is the part that the IOs of all versions share.
type io struct {
	slot  Slot
	call  Call
	args  []byte
	chunk [1]xdr.Chunk
}

// Data implements [IO].
func (o *io) Data() []byte { return o.slot.Data() }

// Slot implements [IO].
func (o *io) Slot() Slot { return o.slot }

// Release implements [IO].
func (o *io) Release() error { return o.slot.Release() }

// decoder returns a decoder of the results. If the bulk data was placed, the decoder finds it at position pos.
func (o *io) decoder(pos int) xdr.Decoder {
	if len(o.call.Placed) == 0 {
		return xdr.NewDecoder(o.call.Results)
	}
	o.chunk[0] = xdr.Chunk{Pos: uint32(pos), Data: o.call.Placed}
	return xdr.NewChunkedDecoder(o.call.Results, nil, o.chunk[:])
}
