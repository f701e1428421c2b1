package smb

import (
	"fmt"
	"sync"
	"testing"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// streamOpen is want with share modes.
func streamOpen(name string, access wire.AccessMask, share wire.ShareAccess) wire.CreateRequest {
	q := want(name, wire.FileOpen)
	q.DesiredAccess, q.ShareAccess = access, share
	return q
}

// Share modes are each stream's own; to delete is of all of them.
func TestStreamSharing(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	c.put("f:a", "a")
	c.put("f:b", "b")
	const (
		all   = wire.FileShareRead | wire.FileShareWrite | wire.FileShareDelete
		keep  = wire.FileShareRead | wire.FileShareWrite
		rw    = wire.FileGenericRead | wire.FileGenericWrite
		no    = wire.StatusSharingViolation
		write = rw
	)
	a := c.must(streamOpen("f:a", write, 0)).FileID
	c.fails(streamOpen("f:A", wire.FileReadData, all), no)
	c.fails(streamOpen("f:b", write, 0), 0)
	c.fails(streamOpen("f", write, 0), 0)
	c.fails(streamOpen("f", wire.Delete, all), no)
	super := want("f", wire.FileSupersede)
	super.DesiredAccess = wire.FileReadData
	c.fails(super, no)
	c.closeFile(a)
	c.fails(streamOpen("f", wire.Delete, all), 0)
	// Whoever may delete the file keeps streams from being open without sharing that; the other way round not.
	f := c.must(streamOpen("f", wire.Delete, all)).FileID
	c.fails(streamOpen("f:a", write, keep), no)
	c.fails(streamOpen("f:a", write, all), 0)
	c.closeFile(f)
	f = c.must(streamOpen("f", write, keep)).FileID
	c.fails(streamOpen("f:a", write|wire.Delete, all), 0)
	c.closeFile(f)
	// Byte ranges, too, are each stream's own.
	f, a = c.must(want("f", wire.FileOpen)).FileID, c.must(want("f:a", wire.FileOpen)).FileID
	a2 := c.must(want("f:a", wire.FileOpen)).FileID
	c.lock(f, 0, at(0, 10, exclusive))
	c.lock(a, 0, at(0, 10, exclusive))
	c.lock(a2, wire.StatusLockNotGranted, at(9, 1, shared))
	if st := c.write(a2, 0, []byte("x")); st != wire.StatusFileLockConflict {
		t.Errorf("WRITE to what is locked: %v", st)
	}
	if st := c.write(f, 0, []byte("x")); st != 0 {
		t.Error(st)
	}
	for _, id := range []wire.FileID{f, a, a2} {
		c.closeFile(id)
	}
}

// Oplocks are each stream's own, and given up when the file replaces its contents.
func TestStreamOplock(t *testing.T) {
	e := newFileEnv(t, nil)
	c, other := e.files(wire.Dialect311), e.files(wire.Dialect311)
	r := c.must(caching("f:s", levelBatch))
	if r.OplockLevel != levelBatch {
		t.Fatalf("level %d", r.OplockLevel)
	}
	other.closeFile(other.must(want("f", wire.FileOpen)).FileID)
	other.closeFile(other.must(want("f:t", wire.FileOpenIf)).FileID)
	wait := other.start(want("F:S", wire.FileOpen))
	c.broken(r.FileID, levelII)
	c.acknowledge(r.FileID, levelII, 0)
	other.closeFile(other.finish(wait, 0).FileID)
	c.closeFile(r.FileID)
	r = c.must(caching("f:s", levelBatch))
	wait = other.start(want("f", wire.FileOverwrite))
	c.broken(r.FileID, levelNone)
	c.acknowledge(r.FileID, levelNone, 0)
	other.closeFile(other.finish(wait, 0).FileID)
	if _, st := c.read(wire.ReadRequest{FileID: r.FileID, Length: 1}); st != wire.StatusFileDeleted {
		t.Errorf("READ of what the file has lost: %v", st)
	}
	c.closeFile(r.FileID)
	// One without sharing to delete, whose handle is only cached.
	q := caching("f:s", levelBatch)
	q.ShareAccess = wire.FileShareRead
	r = c.must(q)
	wait = other.start(want("f", wire.FileOpen))
	c.broken(r.FileID, levelII)
	c.closeFile(r.FileID)
	other.closeFile(other.finish(wait, 0).FileID)
}

// Streams are deleted by themselves, with the file, and with its contents.
func TestStreamDelete(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	for _, s := range []string{"a", "b", "c", "d"} {
		c.put("f:"+s, s)
	}
	del := want("f:a", wire.FileOpen)
	del.Options = wire.FileDeleteOnClose
	first, second := c.must(del).FileID, c.must(want("f:A", wire.FileOpen)).FileID
	c.closeFile(first)
	c.fails(want("f:a", wire.FileOpenIf), wire.StatusDeletePending)
	c.mustRead(second, 0, []byte("a"))
	if s := c.all(second).Standard; !s.DeletePending || s.Links != 0 {
		t.Errorf("%+v", s)
	}
	c.closeFile(second)
	c.fails(want("f:a", wire.FileOpen), wire.StatusObjectNameNotFound)
	b := c.must(want("f:b", wire.FileOpen)).FileID
	c.set(b, wire.FileDispositionInformation, []byte{1}, 0)
	c.set(b, wire.FileDispositionInformation, []byte{0}, 0)
	c.closeFile(b)
	c.has("f", "::$DATA", ":b:$DATA", ":c:$DATA", ":d:$DATA")
	b = c.must(want("f:b", wire.FileOpen)).FileID
	c.set(b, wire.FileDispositionInformationEx, wire.AppendInfo32(nil, wire.DispositionDelete|wire.DispositionPosixSemantics), 0)
	c.closeFile(b)
	c.has("f", "::$DATA", ":c:$DATA", ":d:$DATA")

	// Replaced contents: not those of a stream.
	c.closeFile(c.must(want("f:d", wire.FileOverwrite)).FileID)
	c.has("f", "::$DATA", ":c:$DATA", ":d:$DATA")
	lost := c.must(want("f:c", wire.FileOpen)).FileID
	c.closeFile(c.must(want("f", wire.FileOverwriteIf)).FileID)
	c.has("f", "::$DATA")
	if st := c.write(lost, 0, []byte("x")); st != wire.StatusFileDeleted {
		t.Errorf("WRITE to what the file has lost: %v", st)
	}
	fresh := c.must(want("f:c", wire.FileCreate)).FileID
	c.closeFile(lost)
	c.closeFile(fresh)
	c.has("f", "::$DATA", ":c:$DATA")

	// The file goes when the last of its streams is closed.
	s := c.must(want("f:c", wire.FileOpen)).FileID
	del = want("f", wire.FileOpen)
	del.Options = wire.FileDeleteOnClose
	c.closeFile(c.must(del).FileID)
	if st := c.write(s, 0, []byte("still")); st != 0 {
		t.Error(st)
	}
	for _, name := range []string{"f", "f:c", "f:new"} {
		c.fails(want(name, wire.FileOpenIf), wire.StatusDeletePending)
	}
	if !e.exists("f") {
		t.Error("it is gone")
	}
	c.closeFile(s)
	if e.exists("f") {
		t.Error("it is still there")
	}
}

func TestStreamRename(t *testing.T) {
	const rename, replace = wire.FileRenameInformation, wire.RenameReplaceIfExists
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	for _, s := range []string{"a", "b"} {
		c.put("f:"+s, "data of "+s)
	}
	c.closeFile(c.must(want("f:empty", wire.FileCreate)).FileID)
	c.put("d:x", "x")
	a, a2 := c.must(want("f:a", wire.FileOpen)).FileID, c.must(want("f:a", wire.FileOpen)).FileID
	c.renameTo(a, rename, ":b", 0, wire.StatusObjectNameCollision)
	c.renameTo(a, rename, ":B", replace, wire.StatusInvalidParameter) // it has data
	c.renameTo(a, rename, ":empty", 0, wire.StatusObjectNameCollision)
	open := c.must(want("f:empty", wire.FileOpen)).FileID
	c.renameTo(a, rename, ":empty", replace, wire.StatusInvalidParameter)
	c.closeFile(open)
	for _, bad := range []string{":", "::$INDEX_ALLOCATION", ":x:$BAD", ":x/y"} {
		if bad == "::$INDEX_ALLOCATION" {
			c.renameTo(a, rename, bad, 0, wire.StatusInvalidParameter)
			continue
		}
		c.renameTo(a, rename, bad, 0, wire.StatusObjectNameInvalid)
	}
	c.renameTo(a, rename, "f:new", 0, wire.StatusSharingViolation)
	c.renameTo(a, rename, "new", 0, wire.StatusInvalidParameter)
	c.renameTo(a, rename, ":a:$data", 0, 0)
	c.renameTo(a, rename, ":A", 0, 0)
	c.has("f", "::$DATA", ":A:$DATA", ":b:$DATA", ":empty:$DATA")
	c.renameTo(a, rename, ":Empty", replace, 0)
	c.renameTo(a, rename, ":z", 0, 0)
	if n := c.all(a2).Name; n != `\f:z` {
		t.Errorf("%q", n)
	}
	if st := c.write(a2, 0, []byte("DATA")); st != 0 {
		t.Error(st)
	}
	c.mustRead(a, 0, []byte("DATA of a"))
	c.fails(want("f:a", wire.FileOpen), wire.StatusObjectNameNotFound)
	c.has("f", "::$DATA", ":b:$DATA", ":z:$DATA")
	// The file cannot be renamed, nor replaced, while a stream is open.
	f := c.must(want("f", wire.FileOpen)).FileID
	c.renameTo(f, rename, "g", 0, wire.StatusAccessDenied)
	c.renameTo(f, rename, ":new", 0, wire.StatusNotSupported)
	c.closeFile(f)
	d := c.must(want("d", wire.FileOpen)).FileID
	c.renameTo(d, rename, "f", replace, wire.StatusAccessDenied)
	c.closeFile(a2)
	c.closeFile(a)
	c.renameTo(d, rename, "f", replace, 0)
	c.closeFile(d)
	c.has("f", "::$DATA", ":x:$DATA")
}

// A stream that is renamed to be the file's data is that from then on.
func TestStreamBecomesMain(t *testing.T) {
	const rename, replace, invalid = wire.FileRenameInformation, wire.RenameReplaceIfExists, wire.StatusInvalidParameter
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	c.put("f:s", "data")
	c.put("full:s", "data")
	c.put("full", "")
	id := c.must(want("full:t", wire.FileCreate)).FileID
	f := c.must(want("full", wire.FileOpen)).FileID
	c.renameTo(id, rename, "::$DATA", replace, invalid) // it is open
	c.write(f, 0, []byte("x"))
	c.closeFile(f)
	c.renameTo(id, rename, "::$DATA", replace, invalid) // it has data
	c.closeFile(id)
	id = c.must(want(":s", wire.FileCreate)).FileID
	c.renameTo(id, rename, "::$DATA", replace, invalid) // a directory has none
	c.closeFile(id)
	id = c.must(want("f:s", wire.FileOpen)).FileID
	c.renameTo(id, rename, "::$DATA", 0, wire.StatusObjectNameCollision)
	c.renameTo(id, rename, "::$data", replace, 0)
	c.renameTo(id, rename, "::$data", replace, invalid)
	c.renameTo(id, rename, ":again", replace, invalid)
	c.has("f", "::$DATA")
	c.mustRead(id, 0, []byte("data"))
	if st := c.write(id, 2, sample(1<<20)); st != 0 {
		t.Error(st)
	}
	c.Call(wire.CmdFlush, (&wire.FlushRequest{FileID: id}).Append, 0)
	c.set(id, wire.FileEndOfFileInformation, wire.AppendInfo64(nil, 3), 0)
	if all := c.all(id); all.Name != `\f` || all.Standard.EndOfFile != 3 || e.attr("f").Size != 3 {
		t.Errorf("%+v", all)
	}
	again := c.must(want("f:s", wire.FileCreate)).FileID
	c.closeFile(again)
	c.set(id, wire.FileDispositionInformation, []byte{1}, 0)
	c.closeFile(id)
	if e.exists("f") {
		t.Error("the file is still there")
	}
}

// Many at once: each write is there, none undoes another.
func TestStreamConcurrency(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	const clients, rounds = 4, 50
	var wg sync.WaitGroup
	for i := range clients {
		c := e.files(wire.Dialect311)
		wg.Go(func() {
			own := fmt.Sprint("f:own", i)
			for n := range rounds {
				id := c.must(want("f:S", wire.FileOpenIf)).FileID
				if st := c.write(id, uint64(i*rounds+n), []byte{byte(i + 1)}); st != 0 {
					t.Error(st)
				}
				c.closeFile(id)
				q := want(own, wire.FileOpenIf)
				q.Options = wire.FileDeleteOnClose
				id = c.must(q).FileID
				if n%2 == 0 {
					c.renameTo(id, wire.FileRenameInformation, fmt.Sprint(":", i, "x", n), 0, 0)
				}
				c.closeFile(id)
			}
		})
	}
	wg.Wait()
	c := e.files(wire.Dialect311)
	c.has("f", "::$DATA", ":S:$DATA")
	var data []byte
	e.node("f", func(n vfs.Node) { data, _ = n.(vfs.Xattrer).GetXattr(t.Context(), root, "DosStream.S:$DATA") })
	if len(data) != clients*rounds+1 {
		t.Fatalf("%d bytes", len(data))
	}
	for at, b := range data[:clients*rounds] {
		if int(b) != at/rounds+1 {
			t.Fatalf("byte %d is %d", at, b)
		}
	}
}
