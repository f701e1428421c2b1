package server

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"fileserver/config"
	"fileserver/nfs/client"
	"fileserver/nfs/v4/proto"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// bothProtocols starts a server that publishes a directory as "whole" and its subdirectory "sub" as "part", with a user of SMB.
func bothProtocols(t *testing.T) *output {
	t.Helper()
	cfg := configure(t, "shares: {whole: {path: data}}\nnfs: {port: 0, rdma_port: 0}\nsmb: {enabled: true, port: 0, rdma_port: 0}\niwarp: {enabled: false}\n")
	whole := &cfg.Shares[0]
	part := *whole
	part.Name, part.Path = "part", filepath.Join(whole.Path, "sub")
	cfg.Shares = append([]config.Share{*whole}, part)
	if err := os.Mkdir(part.Path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(part.Path, 0o777); err != nil {
		t.Fatal(err)
	}
	addUser(t, cfg)
	_, out := start(t, cfg)
	return out
}

// nfsMount mounts an export over TCP, with version 3 or 4.1.
func nfsMount(t *testing.T, out *output, export string, version int) client.Client {
	t.Helper()
	at := out.Addr(t, "nfs", "tcp").String()
	cred := client.Cred{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	c, err := client.DialTCP(t.Context(), at, cred)
	if err != nil {
		t.Fatal(err)
	}
	opt := client.Options{Host: "127.0.0.1", Path: export, Cred: cred, MountAddr: at, MaxIO: 64 << 10, Slots: 4}
	var m client.Client
	if version == 3 {
		m, err = client.MountV3(t.Context(), c, opt)
	} else {
		m, err = client.MountV4(t.Context(), c, 1, opt)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	return m
}

// smbMount mounts a share over TCP.
func smbMount(t *testing.T, out *output, share string) *smbtest.Client {
	t.Helper()
	nc, err := net.Dial("tcp", out.Addr(t, "smb", "tcp").String())
	if err != nil {
		t.Fatal(err)
	}
	c := smbtest.NewClient(t, smbtest.Over(nc))
	c.Connect(wire.Dialect210)
	c.MustLogin("ann", "secret")
	c.Tree(`\\server\`+share, wire.StatusSuccess)
	return c
}

// smbOpen opens a file for reading and writing.
func smbOpen(c *smbtest.Client, name string, share wire.ShareAccess, oplock uint8, want wire.Status) wire.CreateResponse {
	c.T.Helper()
	q := wire.CreateRequest{
		ImpersonationLevel: wire.ImpersonationImpersonation, DesiredAccess: wire.FileGenericRead | wire.FileGenericWrite,
		ShareAccess: share, Disposition: wire.FileOpenIf, OplockLevel: oplock, Name: wire.AppendUTF16(nil, name),
	}
	r := c.Call(wire.CmdCreate, q.Append, want)
	if want != wire.StatusSuccess {
		return wire.CreateResponse{}
	}
	resp, err := wire.ParseCreateResponse(r.Msg)
	if err != nil {
		c.T.Fatal(err)
	}
	return resp
}

func smbClose(c *smbtest.Client, id wire.FileID) {
	c.T.Helper()
	c.Call(wire.CmdClose, (&wire.CloseRequest{FileID: id}).Append, wire.StatusSuccess)
}

const shareAll = wire.FileShareRead | wire.FileShareWrite | wire.FileShareDelete

// TestOneFile: NFS and SMB clients that open the same file conflict, also through nested shares.
func TestOneFile(t *testing.T) {
	out := bothProtocols(t)
	ctx := t.Context()
	four, three := nfsMount(t, out, "/part", 4), nfsMount(t, out, "/part", 3)
	whole, part := smbMount(t, out, "whole"), smbMount(t, out, "part")
	shares := []struct {
		c    *smbtest.Client
		name string
	}{{whole, `sub\f`}, {part, "f"}}

	f, err := four.Open(ctx, "f", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shares {
		smbOpen(s.c, s.name, 0, 0, wire.StatusSharingViolation)
		r := smbOpen(s.c, s.name, shareAll, wire.OplockLevelBatch, wire.StatusSuccess)
		if r.OplockLevel != wire.OplockLevelII {
			t.Errorf("oplock %d beside an open of NFS", r.OplockLevel)
		}
		smbClose(s.c, r.FileID)
	}
	if err := f.Close(ctx); err != nil {
		t.Fatal(err)
	}

	for _, s := range shares {
		r := smbOpen(s.c, s.name, 0, 0, wire.StatusSuccess)
		if _, err := four.Open(ctx, "f", false); !errors.Is(err, proto.ErrShareDenied) {
			t.Errorf("OPEN of what an SMB client has to itself: %v", err)
		}
		f, err := three.Open(ctx, "f", false)
		if err != nil {
			t.Fatal(err)
		}
		io, err := f.NewIO(ctx, 100)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := io.Write(ctx, 0, 100, client.FileSync); err == nil {
			t.Error("NFSv3 wrote what an SMB client has to itself")
		}
		if err := errors.Join(io.Slot().Release(), f.Close(ctx)); err != nil {
			t.Error(err)
		}
		smbClose(s.c, r.FileID)
	}
}
