package smb

import (
	"testing"
	"time"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// What a session has open stays with who has opened it; what it does from then on, it does as who has authenticated last.
func TestReauthenticationAsAnother(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("d", "x")
	e.srv.cfg.Anonymous = new(credOf(new(testUsers["bob"])))
	c := e.files(wire.Dialect311)
	c.Sign = true
	f := c.must(want(`d\x`, wire.FileOpen)).FileID
	for _, who := range [][2]string{{"bob", "hidden"}, {"", ""}} {
		if st, flags := c.LoginAgain(who[0], who[1]); st != wire.StatusSuccess || (flags&wire.SessionFlagIsNull != 0) != (who[0] == "") {
			t.Fatalf("%q: %v %#x", who[0], st, flags)
		}
		if st := c.write(f, 0, []byte("still there")); st != wire.StatusSuccess {
			t.Error(st)
		}
		c.set(f, wire.FileEndOfFileInformation, make([]byte, 8), wire.StatusSuccess)
		c.renameTo(f, wire.FileRenameInformation, `d\y`, 0, wire.StatusAccessDenied) // the directory is ann's
		c.fails(want(`d\x`, wire.FileOpen), wire.StatusAccessDenied)
	}
	if st, _ := c.LoginAgain("ann", "secret"); st != wire.StatusSuccess {
		t.Fatal(st)
	}
	c.renameTo(f, wire.FileRenameInformation, `d\y`, 0, wire.StatusSuccess)
	c.closeFile(f)
}

// A session has so many channels; what is too much does it no harm, and neither does the end of one.
func TestManyChannels(t *testing.T) {
	e := newEnv(t, nil)
	first := e.mounted(wire.Dialect311)
	var others []*smbtest.Client
	bind := func() wire.Status {
		c := e.client()
		c.Connect(wire.Dialect311)
		st, _ := c.Login("ann", "secret", smbtest.Setup{Bind: first})
		others = append(others, c)
		return st
	}
	for range maxChannels - 1 {
		if st := bind(); st != wire.StatusSuccess {
			t.Fatal(st)
		}
	}
	if st := bind(); st != wire.StatusInsufficientResources {
		t.Errorf("one more: %v", st)
	}
	others[0].W.Close()
	deadline := time.Now().Add(smbtest.Timeout)
	for st := bind(); st != wire.StatusSuccess; st = bind() {
		if time.Now().After(deadline) {
			t.Fatalf("one has ended, and there is no place for another: %v", st)
		}
		time.Sleep(time.Millisecond)
	}
	first.Sign = true
	first.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
}

// To authenticate on a channel as if to bind it, with the session's key rather than the channel's, is refused, signed with that key.
func TestBoundAlready(t *testing.T) {
	e := newEnv(t, nil)
	first := e.mounted(wire.Dialect311)
	second := e.client()
	second.Connect(wire.Dialect311)
	if st, _ := second.Login("ann", "secret", smbtest.Setup{Bind: first}); st != wire.StatusSuccess {
		t.Fatal(st)
	}
	own := second.Signer
	second.Signer, second.Sign = first.Signer, true
	q := wire.SessionSetupRequest{SecurityBuffer: []byte("anything")}
	if r := second.Do(smbtest.Request{Command: wire.CmdSessionSetup, Body: q.Append})[0]; r.Status != wire.StatusAccessDenied || r.Flags&wire.FlagSigned == 0 {
		t.Errorf("%v, flags %#x", r.Status, r.Flags)
	}
	second.Signer = own
	second.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
}

// A break that was on its way to a connection that has ended is sent on another one.
func TestBreakOnAnotherChannel(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	first := e.files(wire.Dialect311)
	f := first.must(caching("f", wire.OplockLevelBatch)).FileID
	second := &fileClient{e.client(), e}
	second.Connect(wire.Dialect311)
	if st, _ := second.Login("ann", "secret", smbtest.Setup{Bind: first.Client}); st != wire.StatusSuccess {
		t.Fatal(st)
	}
	second.TreeID = first.TreeID
	other := e.files(wire.Dialect311)
	other.start(want("f", wire.FileOpen))
	first.broken(f, wire.OplockLevelII)
	first.W.Close() // without an answer
	second.broken(f, wire.OplockLevelII)
	second.acknowledge(f, wire.OplockLevelII, wire.StatusSuccess)
	resp, st := other.created(other.Recv()[0])
	if st != wire.StatusSuccess {
		t.Fatal(st)
	}
	other.closeFile(resp.FileID)
	second.closeFile(f)
}
