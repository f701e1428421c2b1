package smb

import (
	"bytes"
	"context"

	"fileserver/smb/wire"
)

// fsctlValidateNegotiate compares what the client has negotiated with what the server has. If they differ, somebody
// has changed the messages, and the connection ends (MS-SMB2 3.3.5.15.12).
func fsctlValidateNegotiate(_ context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	n := r.conn.neg.Load()
	if n.dialect == wire.Dialect311 {
		return nil, statusDrop // 3.1.1 has preauthentication integrity instead
	}
	v, err := wire.ParseValidateNegotiate(q.Input)
	if err != nil {
		return nil, wire.StatusInvalidParameter
	}
	if v.GUID != n.clientGUID || v.SecurityMode != n.clientSecurity || v.Capabilities != n.clientCaps || !bytes.Equal(v.Dialects, n.dialects) {
		r.conn.log.Warn("smb: the negotiation has been tampered with", "user", r.session.who().Name)
		return nil, statusDrop
	}
	resp := wire.ValidateNegotiate{
		Capabilities: n.serverCaps, GUID: r.conn.srv.cfg.GUID, SecurityMode: n.serverSecurity, Dialects: wire.AppendUint16s(nil, n.dialect),
	}
	out := resp.AppendResponse(nil)
	if uint64(len(out)) > uint64(q.MaxOutputResponse) {
		return nil, statusDrop
	}
	return out, wire.StatusSuccess
}

// fsctlInterfaces lists the addresses to which a client may connect further channels (MS-SMB2 3.3.5.15.11). The
// address of the client's own connection comes first.
func fsctlInterfaces(_ context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	srv := r.conn.srv
	if r.conn.dialect() < wire.Dialect300 || srv.cfg.Interfaces == nil {
		return nil, wire.StatusNotSupported
	}
	list := srv.cfg.Interfaces()
	if len(list) == 0 {
		return nil, wire.StatusNotSupported
	}
	own := r.conn.info.LocalAddr.Addr().Unmap()
	l := wire.NewList(nil, int(min(q.MaxOutputResponse, maxTransact)))
	for _, first := range []bool{true, false} {
		for _, i := range list {
			if (i.Addr.Unmap() == own) != first {
				continue
			}
			n := wire.NetworkInterface{Index: i.Index, LinkSpeed: i.Speed, Addr: i.Addr}
			if i.RSS {
				n.Capability |= wire.InterfaceRSSCapable
			}
			entries := []wire.NetworkInterface{n}
			if i.RDMA {
				// Linux opens channels over TCP only to entries without RDMA, and several channels only to entries
				// with RSS.
				entries[0].Capability |= wire.InterfaceRDMACapable
				n.Capability = wire.InterfaceRSSCapable
				entries = append(entries, n)
			}
			for k := range entries {
				if !l.AddNetworkInterface(&entries[k]) {
					return nil, wire.StatusBufferTooSmall
				}
			}
		}
	}
	return l.Bytes(), wire.StatusSuccess
}
