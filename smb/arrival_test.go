package smb

import (
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// What is asked of a file before its CLOSE is answered, though the client has not waited.
func TestCloseBehind(t *testing.T) {
	for _, encrypt := range []bool{false, true} {
		e := newFileEnv(t, nil)
		e.touch("d", "x")
		c := e.files(wire.Dialect302)
		c.Encrypt = encrypt
		for c.Credits < 16 {
			c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: 16})
		}
		q := want("d", wire.FileOpen)
		q.DesiredAccess = wire.FileListDirectory
		for range 300 {
			d := c.must(q).FileID
			find := wire.QueryDirectoryRequest{Class: wire.FileNamesInformation, FileID: d, OutputLength: 1000, Pattern: wire.AppendUTF16(nil, "*")}
			info := wire.QueryInfoRequest{Type: wire.InfoFile, Class: wire.FileStandardInformation, OutputLength: 24, FileID: d}
			c.Send(c.Message(smbtest.Request{Command: wire.CmdQueryDirectory, Body: find.Append}))
			c.Send(c.Message(smbtest.Request{Command: wire.CmdQueryInfo, Body: info.Append}))
			c.Send(c.Message(smbtest.Request{Command: wire.CmdClose, Body: (&wire.CloseRequest{FileID: d}).Append}))
			for range 3 {
				if r := c.Recv()[0]; r.Status != wire.StatusSuccess {
					t.Fatalf("%v: %v", r.Command, r.Status)
				}
			}
			if _, st := c.query(d, wire.InfoFile, wire.FileStandardInformation, 24); st != wire.StatusFileClosed {
				t.Fatal(st)
			}
		}
		c.W.Close()
	}
}
