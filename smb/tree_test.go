package smb

import (
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// A reload that removes or changes a share ends its opens at once: what they deny, lock and cache is others' again, and every
// request to them says that the share is gone (MS-SMB2 3.3.4.13).
func TestSharesGone(t *testing.T) {
	for name, next := range map[string]func(e *env) *Share{
		"removed": func(e *env) *Share { return &Share{Name: "other", FS: e.fs} },
		"changed": func(e *env) *Share { return &Share{Name: "data", FS: e.fs, Comment: "changed"} },
	} {
		t.Run(name, func(t *testing.T) {
			e := newFileEnv(t, nil)
			c := e.files(wire.Dialect210)
			q := caching("f", levelBatch)
			q.Disposition, q.ShareAccess = wire.FileCreate, 0
			f := c.must(q).FileID
			sh := next(e)
			e.srv.SetShares([]*Share{sh})

			d := &fileClient{Client: e.loggedIn(wire.Dialect311)}
			d.Tree(`\\server\`+sh.Name, wire.StatusSuccess)
			r, st := d.create(want("f", wire.FileOpen))
			if st != wire.StatusSuccess {
				t.Fatalf("the open of a share that is gone still denies: %v", st)
			}
			d.closeFile(r.FileID)
			gone := wire.StatusNetworkNameDeleted
			c.Call(wire.CmdClose, (&wire.CloseRequest{FileID: f}).Append, gone)
			c.Call(wire.CmdOplockBreak, (&wire.OplockBreak{FileID: f}).Append, gone)
			c.Call(wire.CmdTreeDisconnect, smbtest.Empty, gone)
			c.fails(want("f", wire.FileOpen), gone)
			c.Tree(`\\server\`+sh.Name, wire.StatusSuccess)
			c.Call(wire.CmdClose, (&wire.CloseRequest{FileID: f}).Append, wire.StatusFileClosed)
		})
	}
}

// Shares that stay keep their opens, also when the set of shares is replaced.
func TestSharesStay(t *testing.T) {
	e := newFileEnv(t, nil)
	sh := e.srv.share("data")
	c := e.files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate)).FileID
	e.srv.SetShares([]*Share{sh, {Name: "other", FS: e.fs}})
	if st := c.write(f, 0, []byte("x")); st != wire.StatusSuccess {
		t.Error(st)
	}
	c.closeFile(f)
}
