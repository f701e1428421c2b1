package mount

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// Mount is an element of mountlist (RFC 1813 appendix I): who mounted what.
type Mount struct{ Host, Path string }

// DumpRes is the results of DUMP (RFC 1813 appendix I mountlist).
type DumpRes struct{ Mounts []Mount }

// Decode consumes the results.
func (r *DumpRes) Decode(d *xdr.Decoder) {
	r.Mounts = nil
	for d.Bool() {
		r.Mounts = append(r.Mounts, Mount{d.String(maxName), d.String(maxPath)})
	}
}

// Append appends the results.
func (r *DumpRes) Append(b []byte) []byte {
	for _, m := range r.Mounts {
		b = xdr.AppendBool(b, true)
		b = xdr.AppendString(xdr.AppendString(b, m.Host), m.Path)
	}
	return xdr.AppendBool(b, false)
}

// Listed is an element of exports (RFC 1813 appendix I): a path, and the clients that may mount it.
type Listed struct {
	Path   string
	Groups []string
}

// ExportRes is the results of EXPORT (RFC 1813 appendix I exports).
type ExportRes struct{ Exports []Listed }

// Decode consumes the results.
func (r *ExportRes) Decode(d *xdr.Decoder) {
	r.Exports = nil
	for d.Bool() {
		e := Listed{Path: d.String(maxPath)}
		for d.Bool() {
			e.Groups = append(e.Groups, d.String(maxName))
		}
		r.Exports = append(r.Exports, e)
	}
}

// Append appends the results.
func (r *ExportRes) Append(b []byte) []byte {
	for _, e := range r.Exports {
		b = xdr.AppendString(xdr.AppendBool(b, true), e.Path)
		for _, g := range e.Groups {
			b = xdr.AppendString(xdr.AppendBool(b, true), g)
		}
		b = xdr.AppendBool(b, false)
	}
	return xdr.AppendBool(b, false)
}

// dump lists the mounts of exports that admit the caller.
func (s *server) dump(_ context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res DumpRes
	for _, m := range s.table.list() {
		if e, _ := s.find(m.path); e != nil && e.Allows(client(c)) {
			res.Mounts = append(res.Mounts, Mount{m.client.String(), m.path})
		}
	}
	r.Head = res.Append(r.Head)
	return rpc.Success
}

// export lists the exports that admit the caller.
func (s *server) export(_ context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res ExportRes
	for _, e := range s.exports.List() {
		if !e.Allows(client(c)) {
			continue
		}
		l := Listed{Path: e.Path}
		for _, p := range e.Clients {
			l.Groups = append(l.Groups, p.String())
		}
		res.Exports = append(res.Exports, l)
	}
	r.Head = res.Append(r.Head)
	return rpc.Success
}
