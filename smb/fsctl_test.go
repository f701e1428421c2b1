package smb

import (
	"bytes"
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// fsctl sends an IOCTL and returns its output.
func (c *fileClient) fsctl(id wire.FileID, code wire.FsctlCode, in []byte, room uint32, want wire.Status) []byte {
	c.T.Helper()
	q := wire.IoctlRequest{Code: code, FileID: id, Flags: wire.IoctlIsFsctl, MaxOutputResponse: room, Input: in}
	r := c.Do(smbtest.Request{Command: wire.CmdIoctl, Body: q.Append})[0]
	if r.Status != want {
		c.T.Fatalf("%v: %v, want %v", code, r.Status, want)
	}
	resp, err := wire.ParseIoctlResponse(r.Msg)
	if err != nil {
		return nil // an error without output
	}
	if len(resp.Output) > int(room) {
		c.T.Fatalf("%v: %d bytes for %d", code, len(resp.Output), room)
	}
	return resp.Output
}

func (c *fileClient) attributes(id wire.FileID) wire.FileAttributes {
	c.T.Helper()
	out, st := c.query(id, wire.InfoFile, wire.FileBasicInformation, 40)
	if st != 0 {
		c.T.Fatal(st)
	}
	b, _ := wire.ParseBasicInfo(out)
	return b.FileAttributes
}

func TestSparse(t *testing.T) {
	c := newFileEnv(t, nil).files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate)).FileID
	data := bytes.Repeat([]byte{7}, 60000)
	for off := uint64(0); off < 480000; off += 60000 {
		if st := c.write(f, off, data); st != 0 {
			t.Fatal(st)
		}
	}
	ranges := func(off, n uint64, room uint32, want wire.Status) (all []wire.Range) {
		t.Helper()
		l, err := wire.ParseRanges(c.fsctl(f, wire.FsctlQueryAllocatedRanges, (&wire.Range{Offset: off, Length: n}).Append(nil), room, want))
		if err != nil {
			t.Fatal(err)
		}
		for r := range l.All() {
			all = append(all, r)
		}
		return all
	}
	zero := func(from, to uint64, want wire.Status) {
		t.Helper()
		c.fsctl(f, wire.FsctlSetZeroData, (&wire.ZeroData{Offset: from, Beyond: to}).Append(nil), 0, want)
	}
	// A hole in a file that is not sparse is not one.
	zero(100000, 200000, 0)
	if r := ranges(0, 1<<40, 1000, 0); len(r) != 1 || r[0] != (wire.Range{Length: 480000}) {
		t.Errorf("%v", r)
	}
	if a := c.attributes(f); a&wire.FileAttributeSparseFile != 0 {
		t.Errorf("attributes %#x", a)
	}
	c.mustRead(f, 99998, append([]byte{7, 7}, make([]byte, 100)...))
	c.fsctl(f, wire.FsctlSetSparse, nil, 0, 0)
	if a := c.attributes(f); a != wire.FileAttributeSparseFile|wire.FileAttributeArchive {
		t.Errorf("attributes %#x", a)
	}
	zero(65536, 131072, 0)
	zero(262144, 327680, 0)
	want := []wire.Range{{Offset: 0, Length: 65536}, {Offset: 131072, Length: 131072}, {Offset: 327680, Length: 152320}}
	got := ranges(0, 1<<40, 1000, 0)
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("%v", got)
	}
	if r := ranges(70000, 80000, 1000, 0); len(r) != 1 || r[0] != (wire.Range{Offset: 131072, Length: 18928}) {
		t.Errorf("%v", r)
	}
	if r := ranges(0, 1<<40, 47, wire.StatusBufferOverflow); len(r) != 2 {
		t.Errorf("%v", r)
	}
	ranges(0, 1<<40, 15, wire.StatusBufferTooSmall)
	if r := ranges(480000, 1, 1000, 0); len(r) != 0 {
		t.Errorf("%v", r)
	}
	zero(1<<40, 1<<41, 0)
	zero(2, 1, wire.StatusInvalidParameter)
	zero(1<<63, 1<<63+1, wire.StatusInvalidParameter)
	c.fsctl(f, wire.FsctlSetSparse, []byte{0}, 0, 0)
	if a := c.attributes(f); a&wire.FileAttributeSparseFile != 0 {
		t.Errorf("attributes %#x", a)
	}
	// Trimmed storage is gone, whole pages of it.
	var l wire.Ranges = (&wire.Range{Offset: 1, Length: 8192}).Append(nil)
	if out := c.fsctl(f, wire.FsctlFileLevelTrim, wire.AppendTrim(nil, 0, l), 4, 0); le.Uint32(out) != 1 {
		t.Errorf("% x", out)
	}
	c.mustRead(f, 0, bytes.Repeat([]byte{7}, 4096))
	c.mustRead(f, 4096, make([]byte, 4096))
	c.fsctl(f, wire.FsctlFileLevelTrim, wire.AppendTrim(nil, 1, l), 4, wire.StatusInvalidParameter)
	c.fsctl(f, wire.FsctlFileLevelTrim, wire.AppendTrim(nil, 0, nil), 4, wire.StatusInvalidParameter)
	c.closeFile(f)
}

func TestCopychunk(t *testing.T) {
	c := newFileEnv(t, nil).files(wire.Dialect311)
	src, dst := c.must(want("src", wire.FileCreate)).FileID, c.must(want("dst", wire.FileCreate)).FileID
	data := sample(60000)
	if st := c.write(src, 0, data); st != 0 {
		t.Fatal(st)
	}
	key, err := wire.ParseResumeKey(c.fsctl(src, wire.FsctlSrvRequestResumeKey, nil, 32, 0))
	if err != nil {
		t.Fatal(err)
	}
	c.fsctl(src, wire.FsctlSrvRequestResumeKey, nil, 31, wire.StatusInvalidParameter)
	copy := func(id wire.FileID, code wire.FsctlCode, st wire.Status, chunks ...wire.Copychunk) wire.CopychunkResponse {
		t.Helper()
		l := wire.Copychunks{Source: key}
		for _, k := range chunks {
			l.Add(k)
		}
		r, _ := wire.ParseCopychunkResponse(c.fsctl(id, code, l.Append(nil), 12, st))
		return r
	}
	const code = wire.FsctlSrvCopychunkWrite
	if r := copy(dst, code, 0, wire.Copychunk{SourceOffset: 0, TargetOffset: 100, Length: 60000}, wire.Copychunk{SourceOffset: 10, TargetOffset: 0, Length: 100}); r != (wire.CopychunkResponse{Chunks: 2, TotalBytes: 60100}) {
		t.Errorf("%+v", r)
	}
	c.mustRead(dst, 0, data[10:110])
	c.mustRead(dst, 100, data)
	// Over itself.
	if r := copy(src, code, 0, wire.Copychunk{SourceOffset: 0, TargetOffset: 1000, Length: 50000}); r.TotalBytes != 50000 {
		t.Errorf("%+v", r)
	}
	c.mustRead(src, 1000, data[:50000])
	c.mustRead(src, 0, data[:1000])
	limits := wire.CopychunkResponse{Chunks: maxChunks, ChunkBytes: maxChunk, TotalBytes: maxChunkTotal}
	for _, l := range [][]wire.Copychunk{
		{{Length: maxChunk + 1}}, {{}}, make([]wire.Copychunk, maxChunks+1), repeated(wire.Copychunk{Length: maxChunk}, 17), repeated(wire.Copychunk{Length: 1}, maxChunks+1),
	} {
		if r := copy(dst, code, wire.StatusInvalidParameter, l...); r != limits {
			t.Errorf("%d chunks: %+v", len(l), r)
		}
	}
	if r := copy(dst, code, wire.StatusInvalidViewSize, wire.Copychunk{Length: 10}, wire.Copychunk{SourceOffset: 59999, Length: 2}); r.Chunks != 1 || r.TotalBytes != 10 {
		t.Errorf("%+v", r)
	}
	q := want("dst", wire.FileOpen)
	q.DesiredAccess = wire.FileWriteData
	wo := c.must(q).FileID
	copy(wo, code, 0, wire.Copychunk{Length: 10})
	copy(wo, wire.FsctlSrvCopychunk, wire.StatusAccessDenied, wire.Copychunk{Length: 10})
	c.closeFile(wo)
	q.DesiredAccess = wire.FileAppendData // as with WRITE, the offset may be any
	ap := c.must(q).FileID
	copy(ap, code, 0, wire.Copychunk{SourceOffset: 10, TargetOffset: 50, Length: 10})
	c.closeFile(ap)
	c.mustRead(dst, 50, data[10:20])
	c.lock(dst, 0, at(5, 1, exclusive))
	other := c.must(want("dst", wire.FileOpen)).FileID
	copy(other, code, wire.StatusFileLockConflict, wire.Copychunk{Length: 10})
	c.closeFile(other)
	key[0] ^= 1
	copy(dst, code, wire.StatusObjectNameNotFound, wire.Copychunk{Length: 10})
	c.closeFile(src)
	c.closeFile(dst)
}

func repeated(k wire.Copychunk, n int) (l []wire.Copychunk) {
	for range n {
		l = append(l, k)
	}
	return l
}

func TestDuplicateExtents(t *testing.T) {
	c := newFileEnv(t, nil).files(wire.Dialect311)
	src, dst := c.must(want("src", wire.FileCreate)).FileID, c.must(want("dst", wire.FileCreate)).FileID
	data := sample(40960)
	if st := c.write(src, 0, data); st != 0 {
		t.Fatal(st)
	}
	d := wire.DuplicateExtents{Source: src, SourceOffset: 4096, TargetOffset: 8192, Count: 8192}
	c.fsctl(dst, wire.FsctlDuplicateExtentsToFile, d.Append(nil), 0, 0)
	c.mustRead(dst, 8192, data[4096:4096+8192])
	c.fsctl(dst, wire.FsctlDuplicateExtentsToFileEx, d.AppendEx(nil), 0, 0)
	d.Count = 0
	c.fsctl(dst, wire.FsctlDuplicateExtentsToFile, d.Append(nil), 0, 0)
	d.Count = 100
	c.fsctl(dst, wire.FsctlDuplicateExtentsToFile, d.Append(nil), 0, wire.StatusInvalidParameter)
	d.Count = 1 << 63
	c.fsctl(dst, wire.FsctlDuplicateExtentsToFile, d.Append(nil), 0, wire.StatusInvalidParameter)
	d.Count, d.Source = 4096, wire.FileID{Persistent: 1, Volatile: 2}
	c.fsctl(dst, wire.FsctlDuplicateExtentsToFile, d.Append(nil), 0, wire.StatusInvalidHandle)
	c.fsctl(src, wire.FsctlSetSparse, nil, 0, 0)
	d.Source = src
	c.fsctl(dst, wire.FsctlDuplicateExtentsToFile, d.Append(nil), 0, wire.StatusNotSupported)
	c.closeFile(src)
	c.closeFile(dst)
}

// The others, and what is not there.
func TestOtherFsctls(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c := e.files(wire.Dialect311)
	f := c.must(want("f", wire.FileOpen)).FileID
	for _, x := range []struct {
		code wire.FsctlCode
		in   []byte
		room uint32
		st   wire.Status
	}{
		{wire.FsctlCreateOrGetObjectID, nil, 64, 0},
		{wire.FsctlCreateOrGetObjectID, nil, 63, wire.StatusInvalidParameter},
		{wire.FsctlGetCompression, nil, 2, 0},
		{wire.FsctlSetCompression, []byte{0, 0}, 0, 0},
		{wire.FsctlSetCompression, []byte{1, 0}, 0, wire.StatusNotSupported},
		{wire.FsctlSrvEnumerateSnapshots, nil, 16, 0},
		{wire.FsctlSrvEnumerateSnapshots, nil, 15, wire.StatusInvalidParameter},
		{wire.FsctlQueryFileRegions, nil, 100, 0},
		{wire.FsctlQueryFileRegions, nil, 39, wire.StatusBufferOverflow},
		{wire.FsctlIsPathnameValid, nil, 0, 0},
		{wire.FsctlGetReparsePoint, nil, 100, wire.StatusNotAReparsePoint},
		{wire.FsctlLMRRequestResiliency, make([]byte, 8), 0, wire.StatusNotSupported},
		{wire.FsctlSrvReadHash, nil, 100, wire.StatusNotSupported},
		{wire.FsctlOffloadRead, nil, 100, wire.StatusInvalidDeviceRequest},
		{wire.FsctlCode(0x12345678), nil, 100, wire.StatusInvalidDeviceRequest},
	} {
		c.fsctl(f, x.code, x.in, x.room, x.st)
	}
	c.fsctl(wire.AnyFile, wire.FsctlDFSGetReferrals, nil, 100, wire.StatusFSDriverRequired)
	c.fsctl(wire.AnyFile, wire.FsctlPipeWait, nil, 100, wire.StatusInvalidDeviceRequest)
	c.closeFile(f)
}
