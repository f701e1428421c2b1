package smb

import (
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// fuzzFiles is a client with a file and a directory; both are opened anew if the fuzzer has closed them.
func fuzzFiles(t *testing.T) (c *fileClient, f, d wire.FileID) {
	e := newFileEnv(t, nil)
	e.touch("d", "x")
	e.touch("d", "y")
	c = e.files(wire.Dialect311)
	return c, c.must(want("f", wire.FileCreate)).FileID, c.openDir("d")
}

// answered wants exactly one response, or an interim one.
func (c *fileClient) answered(q smbtest.Request) {
	c.T.Helper()
	r := c.Do(q)[0]
	if r.Status != wire.StatusPending && r.Flags&wire.FlagAsyncCommand != 0 {
		c.T.Fatalf("%v: an asynchronous response to a request that was none", r.Command)
	}
}

// FuzzQueryInfo asks for any class with any input.
func FuzzQueryInfo(f *testing.F) {
	for class := range fileQueries {
		f.Add(uint8(wire.InfoFile), uint8(class), uint32(1000), uint32(0), uint32(0), []byte{}, false)
	}
	for class := range filesystemQueries {
		f.Add(uint8(wire.InfoFilesystem), uint8(class), uint32(1000), uint32(0), uint32(0), []byte{}, true)
	}
	l := wire.NewList(nil, 100)
	l.AddEAName([]byte("abc"))
	f.Add(uint8(wire.InfoFile), uint8(wire.FileFullEaInformation), uint32(1000), uint32(1), uint32(4), l.Bytes(), false)
	f.Add(uint8(wire.InfoSecurity), uint8(0), uint32(1000), uint32(7), uint32(0), []byte{}, false)
	f.Fuzz(func(t *testing.T, typ, class uint8, room, additional, flags uint32, in []byte, dir bool) {
		c, file, d := fuzzFiles(t)
		if dir {
			file = d
		}
		q := wire.QueryInfoRequest{Type: wire.InfoType(typ), Class: wire.InfoClass(class), OutputLength: room, Additional: additional, Flags: flags, FileID: file, Input: in}
		c.answered(smbtest.Request{Command: wire.CmdQueryInfo, Body: q.Append})
	})
}

// FuzzSetInfo sets any class to anything.
func FuzzSetInfo(f *testing.F) {
	for class := range fileSets {
		f.Add(uint8(wire.InfoFile), uint8(class), uint32(0), make([]byte, 40), false)
	}
	ren := wire.RenameInfo{Flags: 1, Name: `d\x`}
	f.Add(uint8(wire.InfoFile), uint8(wire.FileRenameInformation), uint32(0), ren.Append(wire.FileRenameInformation, nil), false)
	f.Add(uint8(wire.InfoFile), uint8(wire.FileLinkInformation), uint32(0), ren.Append(wire.FileLinkInformation, nil), false)
	l := wire.NewList(nil, 100)
	l.AddEA(&wire.EA{Name: []byte("a"), Value: []byte("b")})
	f.Add(uint8(wire.InfoFile), uint8(wire.FileFullEaInformation), uint32(0), l.Bytes(), true)
	f.Add(uint8(wire.InfoSecurity), uint8(0), uint32(7), make([]byte, 40), false)
	f.Fuzz(func(t *testing.T, typ, class uint8, additional uint32, in []byte, dir bool) {
		c, file, d := fuzzFiles(t)
		if dir {
			file = d
		}
		q := wire.SetInfoRequest{Type: wire.InfoType(typ), Class: wire.InfoClass(class), Additional: additional, FileID: file, Input: in}
		c.answered(smbtest.Request{Command: wire.CmdSetInfo, Body: q.Append})
	})
}

// FuzzFsctl sends any control code with any input.
func FuzzFsctl(f *testing.F) {
	for code := range fsctls {
		f.Add(uint32(code), uint32(1000), make([]byte, 56), false)
	}
	f.Add(uint32(wire.FsctlSetReparsePoint), uint32(0), (&wire.Reparse{Tag: wire.ReparseTagSymlink, Data: reparseOf("../x", false)}).Append(nil), false)
	f.Add(uint32(wire.FsctlSetReparsePoint), uint32(0), (&wire.Reparse{Tag: wire.ReparseTagNFS, Data: (&wire.NFSReparse{Type: wire.NFSSpecFileChar}).Append(nil)}).Append(nil), false)
	k := wire.Copychunks{}
	k.Add(wire.Copychunk{Length: 5})
	f.Add(uint32(wire.FsctlSrvCopychunk), uint32(12), k.Append(nil), true)
	f.Fuzz(func(t *testing.T, code, room uint32, in []byte, self bool) {
		if wire.FsctlCode(code) == wire.FsctlValidateNegotiateInfo {
			return // it ends the connection
		}
		c, file, _ := fuzzFiles(t)
		if st := c.write(file, 0, sample(5000)); st != 0 {
			t.Fatal(st)
		}
		if self && len(in) >= 16 { // the key of copies and the FileId of clones
			le.PutUint64(in, file.Persistent)
			le.PutUint64(in[8:], file.Volatile)
		}
		q := wire.IoctlRequest{Code: wire.FsctlCode(code), FileID: file, Flags: wire.IoctlIsFsctl, MaxOutputResponse: room, Input: in}
		if row, ok := fsctls[q.Code]; ok && !row.open {
			q.FileID = wire.AnyFile
		}
		c.answered(smbtest.Request{Command: wire.CmdIoctl, Body: q.Append})
	})
}

// FuzzQueryDirectory lists with any pattern and room.
func FuzzQueryDirectory(f *testing.F) {
	for _, class := range dirClasses {
		f.Add(uint8(class), uint8(0), uint32(1000), []byte{'*', 0})
	}
	f.Fuzz(func(t *testing.T, class, flags uint8, room uint32, pattern []byte) {
		c, _, d := fuzzFiles(t)
		for range 2 {
			q := wire.QueryDirectoryRequest{Class: wire.InfoClass(class), Flags: flags, FileID: d, Pattern: pattern, OutputLength: room}
			r := c.Do(smbtest.Request{Command: wire.CmdQueryDirectory, Body: q.Append})[0]
			if r.Status != wire.StatusSuccess {
				return
			}
			resp, err := wire.ParseOutputResponse(r.Msg)
			if err != nil || len(resp.Output) > int(room) {
				t.Fatalf("%d bytes for %d: %v", len(resp.Output), room, err)
			}
			if _, err := wire.ParseDirEntries(q.Class, resp.Output); err != nil {
				t.Fatal(err)
			}
		}
	})
}
