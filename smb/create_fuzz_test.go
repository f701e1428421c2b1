package smb

import (
	"testing"

	"fileserver/smb/secdesc"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// createSeeds are CREATEs with all contexts.
func createSeeds() (list []wire.CreateRequest) {
	for d := range wire.FileOverwriteIf + 1 {
		list = append(list, want("seed", d), want(`dir\a:b`, d), want("", d))
	}
	q := caching("contexts", levelBatch)
	q.Contexts.Add(wire.CreateQueryMaximalAccess, nil)
	q.Contexts.Add(wire.CreateQueryOnDiskID, nil)
	q.Contexts.Add(wire.CreateAllocationSize, func(b []byte) []byte { return wire.AppendAllocationSize(b, 1) })
	q.Contexts.Add(wire.CreateDurableHandleRequestV2, (&wire.DurableRequestV2{}).Append)
	q.Contexts.Add(wire.CreateRequestLease, (&wire.Lease{Version: 2, State: wire.LeaseReadCaching}).Append)
	q.Contexts.Add(wire.CreateSDBuffer, secdesc.FromFile(secdesc.File{Mode: 0o640}).Append)
	q.Contexts.Add(wire.CreateEABuffer, func(b []byte) []byte {
		l := wire.NewList(b, 1000)
		l.AddEA(&wire.EA{Name: []byte("color"), Value: []byte("red")})
		return l.Bytes()
	})
	q.Contexts.Add(wire.CreatePosix, func(b []byte) []byte { return wire.AppendPosixCreate(b, 0o600) })
	list = append(list, q)
	q = want("gone", wire.FileOpenIf)
	q.Options = wire.FileDirectoryFile | wire.FileDeleteOnClose
	return append(list, q)
}

// Whatever an authenticated client sends, it is answered, and what was opened can be closed.
func FuzzCreate(f *testing.F) {
	var header [wire.HeaderLen]byte
	for _, q := range createSeeds() {
		f.Add(q.Append(header[:], 0)[wire.HeaderLen:])
	}
	e := newFileEnv(f, nil)
	c := e.files(wire.Dialect311)
	e.posix()
	f.Cleanup(c.W.Close)
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) < 2 || len(body) > 8192 { // shorter ones are no messages
			return
		}
		c.T = t
		r := c.Do(smbtest.Request{Command: wire.CmdCreate, Body: func(b []byte, _ int) []byte { return append(b, body...) }})[0]
		if resp, st := c.created(r); st == wire.StatusSuccess {
			c.closeFile(resp.FileID)
			if n := e.links(); n != 0 {
				t.Fatalf("%d links are left", n)
			}
		} else if _, err := wire.ParseErrorResponse(r.Msg); err != nil {
			t.Fatal(err)
		}
	})
}

// Every prefix of a CREATE is answered.
func TestCreateTruncated(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	var header [wire.HeaderLen]byte
	for _, q := range createSeeds() {
		body := q.Append(header[:], 0)[wire.HeaderLen:]
		for n := 2; n < len(body); n += 1 + n/64 {
			r := c.Do(smbtest.Request{Command: wire.CmdCreate, Body: func(b []byte, _ int) []byte { return append(b, body[:n]...) }})[0]
			if resp, st := c.created(r); st == wire.StatusSuccess {
				c.closeFile(resp.FileID)
			} else if n < 56 && st != wire.StatusInvalidParameter {
				t.Fatalf("%d bytes: %v", n, st)
			}
		}
	}
	c.W.Close()
}
