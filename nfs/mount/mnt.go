package mount

import (
	"context"
	"net/netip"
	"strings"

	"fileserver/nfs"
	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// PathArgs is the arguments of MNT and UMNT (RFC 1813 appendix I dirpath).
type PathArgs struct{ Path string }

// Decode consumes the arguments.
func (a *PathArgs) Decode(d *xdr.Decoder) { a.Path = d.String(maxPath) }

// Append appends the arguments.
func (a *PathArgs) Append(b []byte) []byte { return xdr.AppendString(b, a.Path) }

// MntRes is mountres3 (RFC 1813 appendix I).
type MntRes struct {
	Status  Status
	Handle  []byte
	Flavors []rpc.Flavor // of the export, the preferred first
}

// maxFlavors bounds what a client decodes.
const maxFlavors = 256

// Decode consumes the results.
func (r *MntRes) Decode(d *xdr.Decoder) {
	if r.Status = Status(d.Uint32()); r.Status != OK {
		return
	}
	r.Handle = d.Opaque(maxFH)
	r.Flavors = nil
	for range d.Count(maxFlavors, 4) {
		r.Flavors = append(r.Flavors, rpc.Flavor(d.Uint32()))
	}
}

// Append appends the results.
func (r *MntRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	if r.Status != OK {
		return b
	}
	b = xdr.AppendUint32(xdr.AppendOpaque(b, r.Handle), uint32(len(r.Flavors)))
	for _, f := range r.Flavors {
		b = xdr.AppendUint32(b, uint32(f))
	}
	return b
}

func (s *server) mnt(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a PathArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res MntRes
	e, rest := s.find(a.Path)
	switch {
	case e == nil:
		res.Status = ErrNoEnt
	case !e.Allows(client(c)), !s.exports.CheckPort(e, c):
		res.Status = ErrAcces
	default:
		h, err := walk(ctx, e, c, rest)
		if res.Status = statusOf(err); err == nil {
			res.Handle, res.Flavors = nfs.AppendHandle(nil, e, h), e.Flavors
			s.table.add(client(c), a.Path)
		}
	}
	c.Status = uint32(res.Status)
	r.Head = res.Append(r.Head)
	return rpc.Success
}

func client(c *rpc.Call) netip.Addr { return c.Conn.RemoteAddr.Addr().Unmap() }

// find finds the export with the longest path that path is, or is below; rest is what follows.
func (s *server) find(path string) (e *nfs.Export, rest string) {
	if !strings.HasPrefix(path, "/") {
		return nil, ""
	}
	for _, x := range s.exports.List() {
		root := strings.TrimRight(x.Path, "/")
		below, ok := strings.CutPrefix(path, root)
		if ok && (below == "" || below[0] == '/') && (e == nil || len(root) > len(strings.TrimRight(e.Path, "/"))) {
			e, rest = x, below
		}
	}
	return e, rest
}

// walk goes from the root of the export along path, as the caller may. Symbolic links are not followed.
func walk(ctx context.Context, e *nfs.Export, c *rpc.Call, path string) (vfs.Handle, error) {
	cred := e.Cred(c)
	n, err := e.FS.Root(ctx)
	if err != nil {
		return vfs.Handle{}, err
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." {
			continue
		}
		next, err := n.Lookup(ctx, cred, name) // ".." is refused: nothing climbs
		n.Release()
		if err != nil {
			return vfs.Handle{}, err
		}
		n = next
	}
	defer n.Release()
	if n.Kind() != vfs.KindDirectory {
		return vfs.Handle{}, vfs.ErrNotDir
	}
	return n.Handle(), nil
}

func statusOf(err error) Status {
	switch vfs.StatusOf(err) {
	case vfs.OK:
		return OK
	case vfs.ErrPerm:
		return ErrPerm
	case vfs.ErrNotFound:
		return ErrNoEnt
	case vfs.ErrAccess:
		return ErrAcces
	case vfs.ErrNotDir, vfs.ErrSymlink:
		return ErrNotDir
	case vfs.ErrInvalid, vfs.ErrBadName:
		return ErrInval
	case vfs.ErrNameTooLong:
		return ErrNameTooLong
	case vfs.ErrUnsupported:
		return ErrNotSupp
	case vfs.ErrServerFault:
		return ErrServerFault
	}
	return ErrIO
}
