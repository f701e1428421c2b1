package smb

import (
	"testing"
	"testing/synctest"
	"time"

	"fileserver/smb/crypt"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

const (
	levelNone  = wire.OplockLevelNone
	levelII    = wire.OplockLevelII
	levelEx    = wire.OplockLevelExclusive
	levelBatch = wire.OplockLevelBatch
)

// caching is a CREATE that asks for an oplock.
func caching(name string, level uint8) wire.CreateRequest {
	q := want(name, wire.FileOpenIf)
	q.OplockLevel = level
	return q
}

// broken waits for a break notification.
func (c *fileClient) broken(id wire.FileID, level uint8) {
	c.T.Helper()
	r := c.Recv()[0]
	b, err := wire.ParseOplockBreak(r.Msg)
	if err != nil || r.Command != wire.CmdOplockBreak || r.MessageID != ^uint64(0) || r.SessionID != 0 || r.TreeID != 0 || r.Credits != 0 {
		c.T.Fatalf("not a break: %+v %v", r.Header, err)
	}
	if b.FileID != id || b.Level != level {
		c.T.Fatalf("break of %v to %d, want %v to %d", b.FileID, b.Level, id, level)
	}
}

// acknowledge answers a break.
func (c *fileClient) acknowledge(id wire.FileID, level uint8, st wire.Status) {
	c.T.Helper()
	r := c.Call(wire.CmdOplockBreak, (&wire.OplockBreak{Level: level, FileID: id}).Append, st)
	if st != wire.StatusSuccess {
		return
	}
	if b, err := wire.ParseOplockBreak(r.Msg); err != nil || b.FileID != id || b.Level != level {
		c.T.Fatalf("%+v %v", b, err)
	}
}

// start sends a CREATE that has to wait, and returns its interim response.
func (c *fileClient) start(q wire.CreateRequest) smbtest.Response {
	c.T.Helper()
	c.Send(c.Message(smbtest.Request{Command: wire.CmdCreate, Body: q.Append}))
	r := c.Recv()[0]
	if r.Status != wire.StatusPending || r.Flags&wire.FlagAsyncCommand == 0 {
		c.T.Fatalf("no interim response: %+v", r.Header)
	}
	return r
}

// finish waits for the final response of a CREATE that has started.
func (c *fileClient) finish(interim smbtest.Response, st wire.Status) wire.CreateResponse {
	c.T.Helper()
	r := c.Recv()[0]
	if r.MessageID != interim.MessageID || r.AsyncID != interim.AsyncID {
		c.T.Fatalf("another response: %+v", r.Header)
	}
	resp, got := c.created(r)
	if got != st {
		c.T.Fatalf("CREATE: %v, want %v", got, st)
	}
	return resp
}

// Which levels are granted next to what is there.
func TestOplockGrants(t *testing.T) {
	e := newFileEnv(t, nil)
	a, b := e.files(wire.Dialect311), e.files(wire.Dialect202)
	for i, test := range []struct{ first, wanted, granted uint8 }{
		{levelNone, levelII, levelII}, {levelNone, levelEx, levelII}, {levelNone, levelBatch, levelII}, {levelNone, levelNone, levelNone},
		{levelII, levelII, levelII}, {levelII, levelBatch, levelII}, {levelNone, 0x55, levelNone},
	} {
		first := a.must(caching("f", test.first))
		if first.OplockLevel != test.first {
			t.Errorf("%d: alone %d", i, first.OplockLevel)
		}
		second := b.must(caching("f", test.wanted))
		if second.OplockLevel != test.granted {
			t.Errorf("%d: %d after %d is %d, want %d", i, test.wanted, test.first, second.OplockLevel, test.granted)
		}
		a.closeFile(first.FileID)
		b.closeFile(second.FileID)
	}
	for _, level := range []uint8{levelEx, levelBatch} {
		r := a.must(caching("f", level))
		if r.OplockLevel != level {
			t.Errorf("%d", r.OplockLevel)
		}
		// To look at attributes disturbs nobody, and is given nothing.
		q := caching("f", levelBatch)
		q.DesiredAccess = wire.FileReadAttributes | wire.Synchronize
		s := b.must(q)
		if s.OplockLevel != levelNone {
			t.Errorf("an open of attributes has %d", s.OplockLevel)
		}
		b.closeFile(s.FileID)
		a.closeFile(r.FileID)
	}
	dir := caching("d", levelBatch)
	dir.Options = wire.FileDirectoryFile
	if r := a.must(dir); r.OplockLevel != levelNone {
		t.Errorf("a directory has %d", r.OplockLevel)
	}
	a.W.Close()
	b.W.Close()
}

func TestNoOplocks(t *testing.T) {
	e := newFileEnv(t, func(s *Share) { s.NoOplocks = true })
	c := e.files(wire.Dialect311)
	if r := c.must(caching("f", levelBatch)); r.OplockLevel != levelNone {
		t.Error(r.OplockLevel)
	}
	c.W.Close()
}

// A second open waits until the first client has come down.
func TestOplockBreak(t *testing.T) {
	for _, level := range []uint8{levelEx, levelBatch} {
		for _, answer := range []uint8{levelII, levelNone} {
			e := newFileEnv(t, nil)
			a, b := e.files(wire.Dialect311), e.files(wire.Dialect311)
			first := a.must(caching("f", level))
			p := b.start(caching("F", levelBatch))
			a.broken(first.FileID, levelII)
			a.acknowledge(first.FileID, answer, wire.StatusSuccess)
			second := b.finish(p, wire.StatusSuccess)
			if second.OplockLevel != levelII {
				t.Errorf("the second has %d", second.OplockLevel)
			}
			st := wire.StatusInvalidDeviceState
			if answer == levelNone {
				st = wire.StatusInvalidOplockProtocol
			}
			a.acknowledge(first.FileID, levelNone, st)
			// A level II is broken without an answer.
			over := want("f", wire.FileOverwrite)
			c := e.files(wire.Dialect311)
			c.must(over)
			b.broken(second.FileID, levelNone)
			if answer == levelII {
				a.broken(first.FileID, levelNone)
			}
			a.W.Close()
			b.W.Close()
			c.W.Close()
		}
	}
}

// To overwrite breaks to nothing.
func TestOplockBreakToNone(t *testing.T) {
	e := newFileEnv(t, nil)
	a, b := e.files(wire.Dialect311), e.files(wire.Dialect300)
	first := a.must(caching("f", levelBatch))
	p := b.start(want("f", wire.FileOverwriteIf))
	a.broken(first.FileID, levelNone)
	a.acknowledge(first.FileID, levelNone, wire.StatusSuccess)
	if r := b.finish(p, wire.StatusSuccess); r.Action != wire.FileOverwritten {
		t.Error(r.Action)
	}
	a.W.Close()
	b.W.Close()
}

// A batch oplock whose client closes the file instead: the share modes it had are gone, too.
func TestOplockBreakClose(t *testing.T) {
	e := newFileEnv(t, nil)
	a, b := e.files(wire.Dialect311), e.files(wire.Dialect311)
	q := caching("f", levelBatch)
	q.ShareAccess = 0
	first := a.must(q)
	p := b.start(caching("f", levelBatch))
	a.broken(first.FileID, levelII)
	a.closeFile(first.FileID)
	second := b.finish(p, wire.StatusSuccess)
	if second.OplockLevel != levelBatch {
		t.Error(second.OplockLevel)
	}
	// One that keeps it open stays in the way.
	p = a.start(q)
	b.broken(second.FileID, levelII)
	b.acknowledge(second.FileID, levelII, wire.StatusSuccess)
	a.finish(p, wire.StatusSharingViolation)
	// An exclusive oplock is not asked: it caches no closed files.
	b.closeFile(second.FileID)
	q.OplockLevel = levelEx
	a.must(q)
	b.fails(caching("f", levelBatch), wire.StatusSharingViolation)
	a.W.Close()
	b.W.Close()
}

// The file is deleted while a CREATE waits.
func TestOplockBreakDelete(t *testing.T) {
	e := newFileEnv(t, nil)
	a, b := e.files(wire.Dialect311), e.files(wire.Dialect311)
	q := caching("f", levelBatch)
	q.Options = wire.FileDeleteOnClose
	first := a.must(q)
	p := b.start(want("f", wire.FileOpen))
	a.broken(first.FileID, levelII)
	a.closeFile(first.FileID)
	b.finish(p, wire.StatusObjectNameNotFound)
	a.W.Close()
	b.W.Close()
}

// Wrong answers.
func TestOplockAcknowledge(t *testing.T) {
	e := newFileEnv(t, nil)
	a, b := e.files(wire.Dialect311), e.files(wire.Dialect311)
	first := a.must(caching("f", levelBatch))
	a.acknowledge(first.FileID, levelII, wire.StatusInvalidDeviceState)
	a.acknowledge(first.FileID, levelBatch, wire.StatusInvalidOplockProtocol)
	a.acknowledge(first.FileID, wire.OplockLevelLease, wire.StatusInvalidParameter)
	a.acknowledge(wire.FileID{Persistent: 1}, levelII, wire.StatusFileClosed)
	a.Call(wire.CmdOplockBreak, (&wire.LeaseBreakAck{}).Append, wire.StatusObjectNameNotFound)
	a.Call(wire.CmdOplockBreak, smbtest.Empty, wire.StatusInvalidParameter)
	for _, bad := range []struct {
		level uint8
		st    wire.Status
	}{{levelEx, wire.StatusInvalidOplockProtocol}, {levelBatch, wire.StatusInvalidOplockProtocol}, {wire.OplockLevelLease, wire.StatusInvalidParameter}} {
		p := b.start(caching("f", levelNone))
		a.broken(first.FileID, levelII)
		a.acknowledge(first.FileID, bad.level, bad.st)
		b.closeFile(b.finish(p, wire.StatusSuccess).FileID)
		if n := e.srv.cfg.Locks.Counts(); n.Opens != 1 {
			t.Errorf("%+v", n)
		}
		a.closeFile(first.FileID)
		first = a.must(caching("f", levelBatch))
	}
	two := a.must(want("g", wire.FileCreate))
	a.closeFile(two.FileID)
	two = a.must(caching("g", levelII))
	a.acknowledge(two.FileID, levelII, wire.StatusInvalidOplockProtocol)
	a.acknowledge(two.FileID, levelNone, wire.StatusInvalidDeviceState)
	a.W.Close()
	b.W.Close()
}

// Who caches and does not answer is waited for, but not for ever (MS-SMB2 3.3.2.1).
func TestOplockBreakTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFileEnv(t, nil)
		a, b := e.files(wire.Dialect311), e.files(wire.Dialect311)
		first := a.must(caching("f", levelBatch))
		started := time.Now()
		p := b.start(caching("f", levelBatch))
		a.broken(first.FileID, levelII)
		time.Sleep(breakTimeout - time.Second) // longer than Recv waits
		if second := b.finish(p, wire.StatusSuccess); second.OplockLevel != levelII || time.Since(started) != breakTimeout {
			t.Errorf("level %d after %v", second.OplockLevel, time.Since(started))
		}
		a.acknowledge(first.FileID, levelNone, wire.StatusInvalidOplockProtocol)
		a.W.Close()
		b.W.Close()
	})
}

// The end of either side's connection ends the waiting; so does CANCEL.
func TestOplockBreakEnds(t *testing.T) {
	e := newFileEnv(t, nil)
	a, b := e.files(wire.Dialect311), e.files(wire.Dialect311)
	first := a.must(caching("f", levelBatch))
	p := b.start(caching("f", levelBatch))
	b.Send(b.Message(smbtest.Request{Command: wire.CmdCancel, Body: smbtest.Empty, Edit: func(h *wire.Header) {
		h.Flags |= wire.FlagAsyncCommand
		h.AsyncID, h.MessageID = p.AsyncID, p.MessageID
	}}))
	b.finish(p, wire.StatusCancelled)
	b.start(caching("f", levelBatch))
	b.W.Close()
	a.broken(first.FileID, levelII)
	c := e.files(wire.Dialect311)
	p = c.start(caching("f", levelBatch))
	a.W.Close()
	if r := c.finish(p, wire.StatusSuccess); r.OplockLevel != levelBatch {
		t.Error(r.OplockLevel)
	}
	c.W.Close()
}

// A CREATE in the middle of a compound waits, and what is related to it goes on with it.
func TestOplockBreakCompound(t *testing.T) {
	e := newFileEnv(t, nil)
	a, b := e.files(wire.Dialect311), e.files(wire.Dialect311)
	first := a.must(caching("f", levelBatch))
	q := caching("f", levelII)
	b.Send(b.Message(
		smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty},
		smbtest.Request{Command: wire.CmdCreate, Body: q.Append, Edit: func(h *wire.Header) { h.Flags &^= wire.FlagRelated }},
		smbtest.Request{Command: wire.CmdClose, Body: (&wire.CloseRequest{FileID: wire.AnyFile, Flags: wire.CloseFlagPostQueryAttrib}).Append},
	))
	if r := b.Recv(); len(r) != 1 || r[0].Command != wire.CmdEcho {
		t.Fatalf("%+v", r)
	}
	if r := b.Recv(); r[0].Status != wire.StatusPending {
		t.Fatalf("%+v", r)
	}
	a.broken(first.FileID, levelII)
	a.acknowledge(first.FileID, levelII, wire.StatusSuccess)
	r := b.Recv()
	if len(r) != 2 || r[0].Status != wire.StatusSuccess || r[1].Status != wire.StatusSuccess {
		t.Fatalf("%+v", r)
	}
	if cl, err := wire.ParseCloseResponse(r[1].Msg); err != nil || cl.Flags != wire.CloseFlagPostQueryAttrib || cl.FileAttributes != wire.FileAttributeArchive || cl.ChangeTime == 0 {
		t.Errorf("%+v %v", cl, err)
	}
	a.W.Close()
	b.W.Close()
}

// Linux' cifs is not given what it would not give back.
func TestOplockLinux(t *testing.T) {
	e := newFileEnv(t, nil)
	for d, posix := range map[wire.Dialect]bool{wire.Dialect300: false, wire.Dialect302: false, wire.Dialect311: true} {
		a := &fileClient{e.client(), e}
		a.Posix = posix
		a.Connect(d)
		a.MustLogin("ann", "secret")
		a.Tree(`\\server\data`, wire.StatusSuccess)
		for _, level := range []uint8{levelII, levelEx, levelBatch} {
			r := a.must(caching("f", level))
			if r.OplockLevel != levelNone {
				t.Errorf("%v: %d instead of %d", d, r.OplockLevel, level)
			}
			a.closeFile(r.FileID)
		}
		a.W.Close()
	}
}

// A level II does not outlast a change by its own open; a batch one does. Opens of attributes break nothing, others do.
func TestOplockSelf(t *testing.T) {
	e := newFileEnv(t, nil)
	a, b := e.files(wire.Dialect311), e.files(wire.Dialect311)
	write := func(c *fileClient, id wire.FileID) {
		c.Call(wire.CmdWrite, (&wire.WriteRequest{FileID: id, Data: []byte("x")}).Append, wire.StatusSuccess)
	}
	first := a.must(caching("f", levelBatch))
	write(a, first.FileID)
	q := want("f", wire.FileOpen)
	for _, access := range []wire.AccessMask{wire.FileReadAttributes, wire.FileWriteAttributes, wire.Synchronize} {
		q.DesiredAccess = access
		b.closeFile(b.must(q).FileID)
	}
	q.DesiredAccess = wire.ReadControl
	p := b.start(q)
	a.broken(first.FileID, levelII)
	a.acknowledge(first.FileID, levelII, wire.StatusSuccess)
	b.finish(p, wire.StatusSuccess)
	a.Send(a.Message(smbtest.Request{Command: wire.CmdWrite, Body: (&wire.WriteRequest{FileID: first.FileID, Data: []byte("x")}).Append}))
	var cmds [2]wire.Command
	for i := range cmds {
		cmds[i] = a.Recv()[0].Command
	}
	if cmds != [2]wire.Command{wire.CmdOplockBreak, wire.CmdWrite} && cmds != [2]wire.Command{wire.CmdWrite, wire.CmdOplockBreak} {
		t.Error(cmds)
	}
	write(a, first.FileID) // it has none any more
	// Whoever creates a file may cache it, even with attributes only.
	q = caching("new", levelBatch)
	q.DesiredAccess, q.Disposition = wire.FileReadAttributes, wire.FileCreate
	if r := a.must(q); r.OplockLevel != levelBatch {
		t.Error(r.OplockLevel)
	}
	a.W.Close()
	b.W.Close()
}

// A time of change that a client has set is shown until another open changes something.
func TestChangeTime(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate))
	info := wire.BasicInfo{Times: wire.Times{Change: 1 << 57}}
	set := wire.SetInfoRequest{Type: wire.InfoFile, Class: wire.FileBasicInformation, FileID: f.FileID, Input: info.Append(nil)}
	c.Call(wire.CmdSetInfo, set.Append, wire.StatusSuccess)
	other := c.must(want("f", wire.FileOpen))
	if other.ChangeTime != 1<<57 {
		t.Errorf("%d", other.ChangeTime)
	}
	info = wire.BasicInfo{FileAttributes: wire.FileAttributeHidden}
	set.Input, set.FileID = info.Append(nil), other.FileID
	c.Call(wire.CmdSetInfo, set.Append, wire.StatusSuccess)
	r := c.Call(wire.CmdClose, (&wire.CloseRequest{FileID: f.FileID, Flags: wire.CloseFlagPostQueryAttrib}).Append, wire.StatusSuccess)
	if cl, err := wire.ParseCloseResponse(r.Msg); err != nil || cl.ChangeTime == 1<<57 || cl.ChangeTime == 0 {
		t.Errorf("%+v %v", cl, err)
	}
	c.W.Close()
}

// Others than SMB recall, too: NFS writes. The break goes out encrypted where the session is.
func TestOplockRecall(t *testing.T) {
	e := newFileEnv(t, nil)
	e.srv.cfg.Encryption = Required
	a := &fileClient{e.client(), e}
	a.Ciphers = []crypt.Cipher{crypt.GCM128}
	a.Connect(wire.Dialect311)
	a.MustLogin("ann", "secret")
	a.Tree(`\\server\data`, wire.StatusSuccess)
	first := a.must(caching("f", levelBatch))
	o := a.open(first.FileID)
	key := o.key
	o.release()
	rc := e.srv.cfg.Locks.Recall(key, lock.CacheKey{Proto: 77}, 0)
	if rc == nil {
		t.Fatal("nobody is asked")
	}
	msg, err := a.W.Recv(smbtest.Timeout)
	if err != nil || msg[0] != 0xfd {
		t.Fatalf("%x %v", msg, err)
	}
	if r := a.Take(msg)[0]; r.Command != wire.CmdOplockBreak || !r.Sealed {
		t.Errorf("%+v", r)
	}
	// It answers to keep more than it may.
	r := a.Call(wire.CmdOplockBreak, (&wire.OplockBreak{Level: levelII, FileID: first.FileID}).Append, wire.StatusSuccess)
	if b, err := wire.ParseOplockBreak(r.Msg); err != nil || b.Level != levelNone {
		t.Errorf("%+v %v", b, err)
	}
	<-rc.Done()
	if n := e.srv.cfg.Locks.Counts(); n.Caches != 1 {
		t.Errorf("%+v", n)
	}
	if e.srv.cfg.Locks.Recall(key, lock.CacheKey{Proto: 77}, 0) != nil {
		t.Error("it still caches")
	}
	a.W.Close()
}
