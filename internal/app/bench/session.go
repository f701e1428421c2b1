package bench

import (
	"context"
	"fmt"
	"net/netip"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// Session is a connection with a share mounted. Its methods are safe for concurrent use.
type Session interface {
	// Open opens a file for reading and writing, and makes it if there is none.
	Open(ctx context.Context, name string) (File, error)
	Remove(ctx context.Context, name string) error
	// Limits are what the server takes.
	Limits() Limits
	// Agreed is what was negotiated.
	Agreed() Agreed
	// Close ends the session.
	Close() error
}

// File is an open file. Its methods are safe for concurrent use.
type File interface {
	// Size is that of the moment the file was opened, bytes.
	Size() uint64
	// NewIO makes room for one request at a time of at most n bytes.
	NewIO(ctx context.Context, n int) (IO, error)
	// Flush makes what was written stable. It fails when the server says that it has lost some of it.
	Flush(ctx context.Context) error
	Close(ctx context.Context) error
}

// IO reads and writes: one goroutine's.
type IO interface {
	// Data is memory for what is to be written. Reads overwrite it.
	Data() []byte
	// Read reads n bytes at off; they are valid until the next call. Less is an error.
	Read(ctx context.Context, off uint64, n int) ([]byte, error)
	// Write writes the first n bytes of Data at off. Less is an error.
	Write(ctx context.Context, off uint64, n int) error
	// Offloaded reports whether the data of the last call moved by RDMA READ or WRITE.
	Offloaded() bool
	Release() error
}

// Limits are what a server takes.
type Limits struct {
	Read, Write int // bytes of one request
	Requests    int // outstanding; 0: not known
}

// Agreed is what client and server have negotiated.
type Agreed struct {
	Version   string `json:"version"` // of NFS, or the dialect of SMB
	Signing   string `json:"signing,omitempty"`
	Cipher    string `json:"cipher,omitempty"`
	Offloads  bool   `json:"rdma_data"` // data may move by RDMA READ and WRITE
	Transport string `json:"wire"`      // "tcp", "iwarp", "roce", "infiniband", "mem"
}

// Target says where a share is, and how to get there.
type Target struct {
	Host      string // name or address
	Port      int
	Proto     string // "nfs", "smb"
	Transport string // "tcp", or the name of Provider
	Share     string // of SMB the name, of NFS the path of the export

	Version   string // of NFS: "3", "4.1", "4.2"
	MountPort int    // of the MOUNT program of version 3; 0: where it is found
	UID, GID  uint32
	SMB       SMBOptions

	// BlockSize and Depth are what will be asked for: bytes, and requests at once.
	BlockSize, Depth int
	// Through makes every write stable before it is answered.
	Through bool
	// RDMAMin is the fewest bytes for which data moves by RDMA where it need not.
	RDMAMin int
	// Invalidate registers memory for each request, under a key that the server invalidates.
	Invalidate bool

	// Pool is where buffers come from, and Provider what connects over RDMA.
	Pool     *slab.Pool
	Provider rdma.Provider
	// Notice is told what is being waited for; nil: nobody.
	Notice func(string)
}

// Dial connects to the target.
func Dial(ctx context.Context, t *Target) (Session, error) {
	addr, err := t.resolve(ctx)
	if err != nil {
		return nil, err
	}
	if t.Proto == "smb" {
		return dialSMB(ctx, t, addr)
	}
	return dialNFS(ctx, t, addr)
}

func (t *Target) rdma() bool { return t.Transport != "tcp" }

// resolve finds the server's address.
func (t *Target) resolve(ctx context.Context) (netip.AddrPort, error) {
	a, err := netip.ParseAddr(t.Host)
	if err != nil {
		list, err := resolver.LookupNetIP(ctx, "ip", t.Host)
		if err != nil {
			return netip.AddrPort{}, fmt.Errorf("finding the server's address: %w", err)
		}
		a = list[0]
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(t.Port)), nil
}

// connMemory is the registered memory of one connection.
type connMemory struct {
	pool       *slab.Pool
	invalidate bool // the peer will invalidate keys of registrations
	mem        *rdma.Memory
}

// get registers the pool with the device of the connection: it is called once.
func (c *connMemory) get(d rdma.Device) (*rdma.Memory, error) {
	if t := d.Caps().Transport; c.invalidate && (t == rdma.TransportRoCE || t == rdma.TransportInfiniBand) {
		return nil, fmt.Errorf("device %s (%v): --invalidate needs keys that a peer may invalidate, and those of libibverbs' memory regions it may not: leave it out", d.Name(), t)
	}
	pd, err := d.AllocPD()
	if err != nil {
		return nil, fmt.Errorf("device %s: protection domain: %w", d.Name(), err)
	}
	if c.mem, err = rdma.NewMemory(pd, c.pool, rdma.AccessLocalWrite); err != nil {
		_ = pd.Dealloc()
		return nil, fmt.Errorf("device %s: registering memory: %w", d.Name(), err)
	}
	return c.mem, nil
}

// close deregisters it; the connection has ended.
func (c *connMemory) close() error {
	if c.mem == nil {
		return nil
	}
	err := c.mem.Close()
	if derr := c.mem.PD().Dealloc(); err == nil {
		err = derr
	}
	c.mem = nil
	return err
}

// room is a buffer of one goroutine that the server reaches, through a window of its own.
type room struct {
	buf    *slab.Buf
	window *rdma.Window
	seg    rdma.Segment
}

const remote = rdma.AccessRemoteRead | rdma.AccessRemoteWrite

func newRoom(ctx context.Context, mem *rdma.Memory, n int, open bool) (r room, err error) {
	if r.buf, err = mem.Pool().Get(ctx, n); err != nil {
		return r, err
	}
	r.window = rdma.NewWindow(mem)
	if open {
		if r.seg, err = r.window.Open(r.buf, 0, n, remote); err != nil {
			r.buf.Release()
		}
	}
	return r, err
}

func (r *room) release() error {
	err := r.window.Close()
	r.buf.Release()
	return err
}
