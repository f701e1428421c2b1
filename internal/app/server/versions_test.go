package server

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"

	"fileserver/config"
	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// call makes a call over TCP and returns the reply behind xid, type, and status of acceptance.
func call(t *testing.T, at netip.AddrPort, msg []byte) []byte {
	t.Helper()
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, 1<<31|uint32(len(msg))), msg...)); err != nil {
		t.Fatal(err)
	}
	var mark [4]byte
	if _, err := io.ReadFull(c, mark[:]); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, binary.BigEndian.Uint32(mark[:])&^(1<<31))
	if _, err := io.ReadFull(c, reply); err != nil {
		t.Fatal(err)
	}
	return reply[20:]
}

// TestVersions asks for each version of a server that serves some of them.
func TestVersions(t *testing.T) {
	for _, served := range [][]config.Version{{config.Version3}, {config.Version41}, {config.Version42}, {config.Version3, config.Version41, config.Version42}} {
		cfg := configure(t, "")
		cfg.NFS.Versions = served
		_, out := start(t, cfg)
		at := out.Addr(t, "nfs", "tcp")
		null := call(t, at, rpc.AppendCall(nil, 1, nfsProgram, 3, 0, rpc.AuthNone, nil))
		if got, want := binary.BigEndian.Uint32(null) == 0, slices.Contains(served, config.Version3); got != want {
			t.Errorf("serving %v: version 3 accepted: %v", served, got)
		}
		for minor, v := range []config.Version{1: config.Version41, 2: config.Version42} {
			if v == "" {
				continue
			}
			msg := rpc.AppendCall(nil, 1, nfsProgram, 4, 1, rpc.AuthNone, nil)
			msg = xdr.AppendOpaque(msg, nil)
			msg = xdr.AppendUint32(xdr.AppendUint32(msg, uint32(minor)), 0) // no operations
			d := xdr.NewDecoder(call(t, at, msg))
			accepted, status := d.Uint32(), d.Uint32()
			if got, want := accepted == 0 && status == 0, slices.Contains(served, v); got != want {
				t.Errorf("serving %v: version %s accepted: %v (%d, %d)", served, v, got, accepted, status)
			}
		}
	}
}
