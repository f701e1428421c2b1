package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"fileserver/nfs/rpc"
	"fileserver/nfs/rpc/rpcclient"
	"fileserver/nfs/xdr"
	"fileserver/nfsrdma"
	"fileserver/rdma"
)

const programNFS = 100003

// nfs tries NFS by TCP and RDMA.
func (p *prober) nfs(ctx context.Context, addr netip.Addr) []Attempt {
	list := []Attempt{p.nfsTCP(ctx, netip.AddrPortFrom(addr, p.NFSPort))}
	at := netip.AddrPortFrom(addr, p.NFSRDMAPort)
	ways, missing := p.providers(ctx, "nfs", at)
	for _, w := range ways {
		list = append(list, p.nfsRDMA(ctx, w, at))
	}
	return append(list, missing...)
}

// nfsTCP calls the NULL procedure over TCP.
func (p *prober) nfsTCP(ctx context.Context, addr netip.AddrPort) Attempt {
	a, ctx, done := p.attempt(ctx, "nfs", "tcp", addr)
	done(func() error {
		nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr.String())
		if err != nil {
			return err
		}
		c := rpcclient.New(nc, rpc.AuthNone, nil)
		defer c.Close()
		return a.null(func(vers uint32) (rpc.AcceptStat, []byte, error) {
			stat, rest, err := c.Do(ctx, rpcclient.Call{Prog: programNFS, Vers: vers})
			if err != nil && !errors.Is(err, rpcclient.ErrDenied) {
				err = &silentError{"RPC", err}
			}
			return stat, rest, err
		})
	}())
	return *a
}

// nfsRDMA does the same by RDMA.
func (p *prober) nfsRDMA(ctx context.Context, w via, addr netip.AddrPort) Attempt {
	a, ctx, done := p.attempt(ctx, "nfs", w.transport, addr)
	a.Device = w.device
	done(func() error {
		c, err := nfsrdma.Dial(ctx, w.provider, addr, nfsrdma.ClientConfig{Memory: p.memory})
		if err != nil {
			return err
		}
		defer c.Close()
		xid := uint32(0x646f6300)
		err = a.null(func(vers uint32) (rpc.AcceptStat, []byte, error) {
			xid++
			var resp nfsrdma.Response
			err := c.Do(ctx, &nfsrdma.Request{Head: rpc.AppendCall(nil, xid, programNFS, vers, 0, rpc.AuthNone, nil)}, &resp)
			if err != nil {
				return 0, nil, &silentError{"RPC over RDMA", err}
			}
			return parseReply(resp.Head)
		})
		a.NFS.Credits = c.Stats().Granted
		return err
	}())
	return *a
}

// null calls the NULL procedure of NFSv4, or of the versions that the server names instead.
func (a *Attempt) null(do func(vers uint32) (rpc.AcceptStat, []byte, error)) error {
	a.NFS = &NFSAnswer{}
	stat, rest, err := do(4)
	if err == nil && stat == rpc.ProgMismatch {
		d := xdr.NewDecoder(rest)
		a.NFS.Low, a.NFS.High = d.Uint32(), d.Uint32()
		if d.Err() == nil && a.NFS.High < 4 {
			stat, _, err = do(a.NFS.High)
		}
	}
	switch {
	case err != nil:
		return err
	case stat != rpc.Success:
		return &rpcError{stat}
	}
	a.What = "the NULL call of NFSv4 is answered"
	if a.NFS.High != 0 {
		a.What = fmt.Sprintf("the NULL call is answered; the server has NFS versions %d to %d only", a.NFS.Low, a.NFS.High)
	}
	return nil
}

// rpcError is a call that the server does not execute.
type rpcError struct{ stat rpc.AcceptStat }

func (e *rpcError) Error() string { return "RPC: " + e.stat.String() }

// silentError is a peer that took the connection and did not answer as its protocol wants.
type silentError struct {
	protocol string
	err      error
}

func (e *silentError) Error() string { return e.protocol + ": " + e.err.Error() }
func (e *silentError) Unwrap() error { return e.err }

// parseReply reads a reply (RFC 5531 9).
func parseReply(b []byte) (rpc.AcceptStat, []byte, error) {
	d := xdr.NewDecoder(b)
	d.Uint32()
	if d.Uint32() != 1 && d.Err() == nil {
		return 0, nil, errors.New("RPC: not a reply")
	}
	if d.Uint32() != 0 {
		return 0, nil, fmt.Errorf("%w: reject_stat %d, %d", rpcclient.ErrDenied, d.Uint32(), d.Uint32())
	}
	d.Uint32()
	d.Opaque(400)
	stat := d.Uint32()
	return rpc.AcceptStat(stat), d.Rest(), d.Err()
}

// isRejected reports whether the peer refused a connection by RDMA.
func isRejected(err error) (*rdma.RejectedError, bool) {
	var e *rdma.RejectedError
	ok := errors.As(err, &e)
	return e, ok
}
