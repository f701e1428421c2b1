package smb

import (
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// bodies are requests of every command and kind that data and information have, in order.
func bodies(f, d wire.FileID) map[string]smbtest.Request {
	list := map[string]smbtest.Request{}
	add := func(name string, cmd wire.Command, body func([]byte, int) []byte) {
		list[name] = smbtest.Request{Command: cmd, Body: body}
	}
	add("read", wire.CmdRead, (&wire.ReadRequest{FileID: f, Length: 10}).Append)
	add("write", wire.CmdWrite, (&wire.WriteRequest{FileID: f, Data: []byte("abc")}).Append)
	add("flush", wire.CmdFlush, (&wire.FlushRequest{FileID: f}).Append)
	add("lock", wire.CmdLock, lockBody(f, at(0, 1, exclusive), at(5, 1, shared)))
	add("directory", wire.CmdQueryDirectory, (&wire.QueryDirectoryRequest{Class: wire.FileIDBothDirectoryInformation, FileID: d, Pattern: []byte{'*', 0}, OutputLength: 1000}).Append)
	add("notify", wire.CmdChangeNotify, (&wire.ChangeNotifyRequest{FileID: d, OutputLength: 1000, Filter: 1}).Append)
	for _, typ := range []wire.InfoType{wire.InfoFile, wire.InfoFilesystem, wire.InfoSecurity} {
		add("query", wire.CmdQueryInfo, (&wire.QueryInfoRequest{Type: typ, Class: wire.FileStandardInformation, OutputLength: 1000, FileID: f, Additional: 7, Input: []byte{1, 2, 3, 4}}).Append)
	}
	add("set", wire.CmdSetInfo, (&wire.SetInfoRequest{Type: wire.InfoFile, Class: wire.FileEndOfFileInformation, FileID: f, Input: make([]byte, 8)}).Append)
	add("ioctl", wire.CmdIoctl, (&wire.IoctlRequest{Code: wire.FsctlSetZeroData, FileID: f, Flags: wire.IoctlIsFsctl, Input: make([]byte, 16)}).Append)
	return list
}

// Every request, cut anywhere: it is refused, and the connection goes on.
func TestTruncatedRequests(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("d", "x")
	c := e.files(wire.Dialect311)
	f, d := c.must(want("f", wire.FileCreate)).FileID, c.openDir("d")
	for name, q := range bodies(f, d) {
		whole := q.Body(make([]byte, 64), 0)[64:]
		if name == "read" {
			whole = whole[:len(whole)-1] // the last byte is there for nothing
		}
		for n := 2; n < len(whole); n++ {
			cut := q
			cut.Body = func(b []byte, _ int) []byte { return append(b, whole[:n]...) }
			if r := c.Do(cut)[0]; r.Status != wire.StatusInvalidParameter {
				t.Errorf("%s of %d of %d bytes: %v", name, n, len(whole), r.Status)
			}
		}
	}
	c.closeFile(f)
	c.closeFile(d)
}

// Every information class and control code, with input cut anywhere: nothing but an answer.
func TestTruncatedInputs(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("d", "x")
	c := e.files(wire.Dialect311)
	input := sample(120)
	for class := range fileSets {
		for n := range len(input) {
			f := c.must(want("f", wire.FileOpenIf)).FileID
			q := wire.SetInfoRequest{Type: wire.InfoFile, Class: class, FileID: f, Input: input[:n]}
			if r := c.Do(smbtest.Request{Command: wire.CmdSetInfo, Body: q.Append})[0]; r.Status == wire.StatusPending {
				t.Errorf("class %d of %d bytes waits", class, n)
			}
			c.closeFile(f)
		}
	}
	f := c.must(want("f", wire.FileOpenIf)).FileID
	for code, row := range fsctls {
		id := wire.AnyFile
		if row.open {
			id = f
		}
		if code == wire.FsctlSetReparsePoint || code == wire.FsctlValidateNegotiateInfo {
			continue // the first takes the file away, the second ends the connection
		}
		for n := range len(input) {
			q := wire.IoctlRequest{Code: code, FileID: id, Flags: wire.IoctlIsFsctl, MaxOutputResponse: uint32(n), Input: input[:n]}
			if r := c.Do(smbtest.Request{Command: wire.CmdIoctl, Body: q.Append})[0]; r.Status == wire.StatusPending {
				t.Errorf("%v of %d bytes waits", code, n)
			}
		}
	}
	c.closeFile(f)
}
