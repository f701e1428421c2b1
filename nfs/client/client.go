package client

import (
	"context"
	"time"

	"fileserver/nfs/xdr"
)

// Stability is how stable a WRITE is (stable_how of RFC 1813 3.3.7 and RFC 8881 18.32).
type Stability uint32

// Stabilities.
const (
	Unstable Stability = 0
	DataSync Stability = 1
	FileSync Stability = 2
)

// Verifier changes when the server has lost what was written and not committed (RFC 1813 3.3.7).
type Verifier [8]byte

// Client is an export mounted. Its methods are safe for concurrent use.
type Client interface {
	// Version is "3", "4.1" or "4.2".
	Version() string
	// MaxRead and MaxWrite are the most that one call moves, bytes.
	MaxRead() int
	MaxWrite() int
	// Slots are how many calls may be outstanding; 0: the server does not say.
	Slots() int
	// Open opens a file for reading and writing, and makes it if that is asked for. Directories in name are separated by slashes.
	Open(ctx context.Context, name string, create bool) (File, error)
	// Remove removes a file.
	Remove(ctx context.Context, name string) error
	// Close unmounts, and closes the Caller.
	Close(ctx context.Context) error
}

// File is an open file. Its methods are safe for concurrent use.
type File interface {
	// Size is that of the moment the file was opened, bytes.
	Size() uint64
	// NewIO makes room for requests of at most n bytes of one goroutine.
	NewIO(ctx context.Context, n int) (IO, error)
	// Commit makes what was written stable.
	Commit(ctx context.Context) (Verifier, error)
	Close(ctx context.Context) error
}

// IO reads and writes: one goroutine's.
type IO interface {
	// Data is memory for the data to be written. Reads overwrite it.
	Data() []byte
	// Read reads n bytes at off; less is the end of the file. The result is valid until the next call.
	Read(ctx context.Context, off uint64, n int) ([]byte, error)
	// Write writes the first n bytes of Data at off, and returns how many were written. n is
	// a multiple of 4, as the data is not padded.
	Write(ctx context.Context, off uint64, n int, how Stability) (int, Verifier, error)
	// Slot is what makes the calls.
	Slot() Slot
	Release() error
}

// Options are what a mount needs.
type Options struct {
	Host string // the server's name or address
	Path string // of the export
	Cred Cred
	// MountAddr is where the MOUNT program of version 3 is ("host:port"); empty: on the connection itself, or where rpcbind says.
	MountAddr string
	// MaxIO and Slots are what requests of version 4 will take: bytes, and requests at once.
	MaxIO, Slots int
	// Notice is told what is being waited for; nil: nobody.
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

// io is what the IOs of all versions have.
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

// decoder decodes results whose bulk data, if it was placed, belongs at pos.
func (o *io) decoder(pos int) xdr.Decoder {
	if len(o.call.Placed) == 0 {
		return xdr.NewDecoder(o.call.Results)
	}
	o.chunk[0] = xdr.Chunk{Pos: uint32(pos), Data: o.call.Placed}
	return xdr.NewChunkedDecoder(o.call.Results, nil, o.chunk[:])
}
