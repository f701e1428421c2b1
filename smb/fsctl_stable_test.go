package smb

import (
	"context"
	"sync/atomic"
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

// dataFsctls are requests of the FSCTLs that change data, of dst, which has as much as src.
func dataFsctls(c *fileClient, src wire.FileID) map[wire.FsctlCode][]byte {
	key, err := wire.ParseResumeKey(c.fsctl(src, wire.FsctlSrvRequestResumeKey, nil, 32, 0))
	if err != nil {
		c.T.Fatal(err)
	}
	l := wire.Copychunks{Source: key}
	l.Add(wire.Copychunk{TargetOffset: 4096, Length: 4096})
	var r wire.Ranges = (&wire.Range{Length: 4096}).Append(nil)
	d := wire.DuplicateExtents{Source: src, Count: 4096}
	return map[wire.FsctlCode][]byte{
		wire.FsctlSrvCopychunkWrite:        l.Append(nil),
		wire.FsctlSetZeroData:              (&wire.ZeroData{Offset: 1, Beyond: 100}).Append(nil),
		wire.FsctlFileLevelTrim:            wire.AppendTrim(nil, 0, r),
		wire.FsctlDuplicateExtentsToFile:   d.Append(nil),
		wire.FsctlDuplicateExtentsToFileEx: d.AppendEx(nil),
	}
}

// What FSCTLs do by an open that writes through is stable when they are answered, as it is with WRITE.
func TestFsctlWriteThrough(t *testing.T) {
	for _, through := range []bool{false, true} {
		e := newFileEnv(t, nil)
		var commits atomic.Int32
		e.fs.SetHook(func(_ context.Context, op mem.Op, _ vfs.Handle) error {
			if op == mem.OpCommit {
				commits.Add(1)
			}
			return nil
		})
		c := e.files(wire.Dialect311)
		src := c.must(want("src", wire.FileCreate)).FileID
		c.write(src, 0, sample(8192))
		q := want("dst", wire.FileCreate)
		if through {
			q.Options = wire.FileWriteThrough
		}
		dst := c.must(q).FileID
		c.write(dst, 0, sample(8192))
		for code, in := range dataFsctls(c, src) {
			commits.Store(0)
			c.fsctl(dst, code, in, 12, 0)
			if stable := commits.Load() > 0; stable != through {
				t.Errorf("%v: write-through %v, stable %v", code, through, stable)
			}
		}
		c.closeFile(src)
		c.closeFile(dst)
		c.W.Close()
	}
}

// A COPYCHUNK that fails after its first chunk tells the client how far it got (MS-SMB2 2.2.32.1), and others that the file
// has changed.
func TestCopychunkFailsPartWay(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	src, dst := c.must(want("src", wire.FileCreate)).FileID, c.must(want("dst", wire.FileCreate)).FileID
	c.write(src, 0, sample(8192))
	key, err := wire.ParseResumeKey(c.fsctl(src, wire.FsctlSrvRequestResumeKey, nil, 32, 0))
	if err != nil {
		t.Fatal(err)
	}
	d := e.files(wire.Dialect311)
	dir := d.openDir("")
	d.parks(watch(dir, wire.NotifyChangeSize, false, anyRoom))
	var none wire.Copychunks
	none.Source = key
	none.Add(wire.Copychunk{SourceOffset: 8000, Length: 1000}) // beyond the end of the source
	c.fsctl(dst, wire.FsctlSrvCopychunkWrite, none.Append(nil), 12, wire.StatusInvalidViewSize)
	d.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess) // a change would have been reported before
	l := wire.Copychunks{Source: key}
	l.Add(wire.Copychunk{Length: 1000})
	l.Add(none.At(0))
	out := c.fsctl(dst, wire.FsctlSrvCopychunkWrite, l.Append(nil), 12, wire.StatusInvalidViewSize)
	if r, err := wire.ParseCopychunkResponse(out); err != nil || r != (wire.CopychunkResponse{Chunks: 1, TotalBytes: 1000}) {
		t.Errorf("%+v, %v", r, err)
	}
	d.told("*dst")
	d.closeFile(dir)
	c.mustRead(dst, 0, sample(1000))
	c.closeFile(src)
	c.closeFile(dst)
}
