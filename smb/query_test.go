package smb

import (
	"bytes"
	"testing"

	"fileserver/smb/namespace"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs/vfstest/mem"
)

// query asks for an information class of a file or file system.
func (c *fileClient) query(id wire.FileID, typ wire.InfoType, class wire.InfoClass, room uint32) ([]byte, wire.Status) {
	c.T.Helper()
	q := wire.QueryInfoRequest{Type: typ, Class: class, OutputLength: room, FileID: id}
	r := c.Do(smbtest.Request{Command: wire.CmdQueryInfo, Body: q.Append})[0]
	if r.Status.Failed() && r.Status != wire.StatusBufferOverflow {
		return nil, r.Status
	}
	resp, err := wire.ParseOutputResponse(r.Msg)
	if err != nil {
		c.T.Fatal(err)
	}
	return resp.Output, r.Status
}

// The position is where the last READ or WRITE has ended, or what was set.
func TestPosition(t *testing.T) {
	c := newFileEnv(t, nil).files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate)).FileID
	defer c.closeFile(f)
	is := func(want uint64) {
		t.Helper()
		b, st := c.query(f, wire.InfoFile, wire.FilePositionInformation, 64)
		if got, err := wire.ParseInfo64(b); st != wire.StatusSuccess || err != nil || got != want {
			t.Errorf("%v, %v: %d, want %d", st, err, got, want)
		}
	}
	is(0)
	c.write(f, 7, sample(1000))
	is(1007)
	c.mustRead(f, 0, make([]byte, 7))
	is(7)
	if _, st := c.read(wire.ReadRequest{FileID: f, Offset: 2000, Length: 1}); st != wire.StatusEndOfFile {
		t.Error(st)
	}
	is(7)
}

// A file whose own name has 8.3 characters has that as its alternate name; for others one is made up, if names are found in any case.
func TestAlternateName(t *testing.T) {
	for _, sensitive := range []bool{false, true} {
		c := newFileEnv(t, func(s *Share) { s.CaseSensitive = sensitive }).files(wire.Dialect311)
		for name, short := range map[string]string{
			"short.txt": "SHORT.TXT", "UPPER": "UPPER", "with space": "", "toolong.text": "", "nine_char": "", "a.b.c": "", ".dot": "", "\u00e9": "", "a+b": "",
		} {
			f := c.must(want(name, wire.FileCreate)).FileID
			b, st := c.query(f, wire.InfoFile, wire.FileAlternateNameInformation, 64)
			if short == "" && !sensitive {
				short, _ = namespace.ShortName(name)
			}
			if sensitive && short != name {
				if st != wire.StatusObjectNameNotFound {
					t.Errorf("%q: %v", name, st)
				}
			} else if w := wire.AppendNameInfo(nil, short); st != wire.StatusSuccess || !bytes.Equal(b, w) {
				t.Errorf("%q: %v, %q", name, st, b)
			}
			c.closeFile(f)
		}
		c.W.Close()
	}
}

// These classes take no right (MS-FSA 2.1.5.12); what is read of them is what any open may know.
func TestUnrestrictedClasses(t *testing.T) {
	c := newFileEnv(t, nil).files(wire.Dialect311)
	q := want("f.txt", wire.FileCreate)
	q.DesiredAccess = wire.Synchronize
	f := c.must(q).FileID
	defer c.closeFile(f)
	for class, want := range map[wire.InfoClass]wire.Status{
		wire.FileStandardInformation: 0, wire.FileInternalInformation: 0, wire.FileAccessInformation: 0, wire.FilePositionInformation: 0,
		wire.FileModeInformation: 0, wire.FileAlignmentInformation: 0, wire.FileAlternateNameInformation: 0, wire.FileStreamInformation: 0,
		wire.FileCompressionInformation: 0, wire.FileNormalizedNameInformation: 0, wire.FileEaInformation: 0,
		wire.FileBasicInformation: wire.StatusAccessDenied, wire.FileAllInformation: wire.StatusAccessDenied,
		wire.FileNetworkOpenInformation: wire.StatusAccessDenied, wire.FileAttributeTagInformation: wire.StatusAccessDenied,
		wire.FileFullEaInformation: wire.StatusAccessDenied,
	} {
		if _, st := c.query(f, wire.InfoFile, class, 4096); st != want {
			t.Errorf("class %d: %v, want %v", class, st, want)
		}
	}
}

func TestQuotaControl(t *testing.T) {
	c := newFileEnv(t, nil).files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate)).FileID
	defer c.closeFile(f)
	b, st := c.query(f, wire.InfoFilesystem, wire.FileFsControlInformation, 48)
	if i, err := wire.ParseFsControlInfo(b); st != wire.StatusSuccess || err != nil || i.Flags != 0 || ^i.DefaultQuotaLimit != 0 {
		t.Errorf("%v, %v: %+v", st, err, i)
	}
	if _, st := c.query(f, wire.InfoFilesystem, wire.FileFsControlInformation, 47); st != wire.StatusInfoLengthMismatch {
		t.Error(st)
	}
}

// A client may offer room for more than is ever listed at once.
func TestLargeListing(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("x")
	c := e.files(wire.Dialect311)
	for c.Credits < 140 {
		c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: 140})
	}
	q := want("", wire.FileOpen)
	q.DesiredAccess = wire.FileListDirectory
	d := c.must(q).FileID
	defer c.closeFile(d)
	for room, st := range map[uint32]wire.Status{8 << 20: wire.StatusSuccess, 8<<20 + 1: wire.StatusInvalidParameter} {
		f := wire.QueryDirectoryRequest{
			Class: wire.FileNamesInformation, Flags: wire.QueryDirectoryRestartScans, FileID: d, OutputLength: room, Pattern: wire.AppendUTF16(nil, "*"),
		}
		if r := c.Do(smbtest.Request{Command: wire.CmdQueryDirectory, Body: f.Append, Charge: 129, Ask: 129})[0]; r.Status != st {
			t.Errorf("%d bytes: %v", room, r.Status)
		}
	}
}

// Requests related to one that was about no file.
func TestRelatedToNoFile(t *testing.T) {
	c := newFileEnv(t, nil).files(wire.Dialect311)
	cl := smbtest.Request{Command: wire.CmdClose, Body: (&wire.CloseRequest{FileID: wire.AnyFile}).Append}
	for _, first := range []smbtest.Request{echo(nil), cl} {
		for i, r := range c.Do(first, cl, cl)[1:] {
			if r.Status != wire.StatusFileClosed {
				t.Errorf("after %v, request %d: %v", first.Command, i+1, r.Status)
			}
		}
	}
	if c.SessionID>>32 != 0 {
		t.Errorf("session %#x: some clients keep 32 bits", c.SessionID)
	}
}

// Nothing can be written anywhere; the offset all ones is for those who may only append.
func TestWriteOffsets(t *testing.T) {
	c := newFileEnv(t, nil).files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate)).FileID
	defer c.closeFile(f)
	for _, x := range []struct {
		off uint64
		n   int
		st  wire.Status
	}{
		{1<<63 - 1, 0, 0}, {1<<63 - 1, 1, wire.StatusInvalidParameter}, {1 << 63, 0, wire.StatusInvalidParameter}, {1 << 63, 1, wire.StatusInvalidParameter},
		{^uint64(0), 1, wire.StatusInvalidParameter}, {^uint64(0), 0, wire.StatusInvalidParameter}, {^uint64(1), 1, wire.StatusInvalidParameter},
	} {
		if st := c.write(f, x.off, sample(x.n)); st != x.st {
			t.Errorf("%d bytes at %#x: %v, want %v", x.n, x.off, st, x.st)
		}
	}
}

// Of what goes beyond the largest file nothing is written.
func TestLargestFile(t *testing.T) {
	const largest = 1 << 20
	fs := mem.New(mem.Options{MaxFileSize: largest})
	c := newFileEnv(t, func(s *Share) { s.FS = fs }).files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate)).FileID
	for _, x := range []struct {
		off uint64
		n   int
		st  wire.Status
	}{
		{largest, 1, wire.StatusInvalidParameter}, {largest - 1, 2, wire.StatusInvalidParameter}, {largest + 1, 0, 0}, {largest - 1, 1, 0},
	} {
		if st := c.write(f, x.off, sample(x.n)); st != x.st {
			t.Errorf("%d bytes at %#x: %v, want %v", x.n, x.off, st, x.st)
		}
	}
	c.set(f, wire.FileEndOfFileInformation, wire.AppendInfo64(nil, largest+1), wire.StatusInvalidParameter)
	if size := c.all(f).Standard.EndOfFile; size != largest {
		t.Errorf("%d bytes", size)
	}
	c.closeFile(f)
}
