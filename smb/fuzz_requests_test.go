package smb

import (
	"context"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// sink is a transport that forgets what it is sent. With rdma it has the client's memory, which is all zeros.
type sink struct {
	info  transport.Info
	rdma  bool
	ended chan struct{} // the server has had enough of the client
}

func (s *sink) Info() *transport.Info { return &s.info }

func (s *sink) Send(o *transport.Outgoing) error {
	o.Release()
	return nil
}

func (s *sink) Disconnect(error, bool) {
	select {
	case s.ended <- struct{}{}:
	default:
	}
}

func (s *sink) Placer() transport.Placer {
	if s.rdma {
		return s
	}
	return nil
}

func (s *sink) Read(_ *slab.Buf, _, _ int, _ []transport.Descriptor, done transport.Completion) error {
	done.Completed(nil)
	return nil
}

// fuzzSession is a connection with a session and a tree, made without an exchange of messages, and used for input after input until
// one of them has ended.
type fuzzSession struct {
	e    *env
	t    *sink
	conn *Conn
	s    *Session
	tree *Tree
	id   uint64 // the next message ID
}

func (e *env) fuzzSession(rdma bool) *fuzzSession {
	t := &sink{rdma: rdma, ended: make(chan struct{}, 1), info: transport.Info{RemoteAddr: netip.MustParseAddrPort("127.0.0.1:1")}}
	if rdma {
		t.info.MaxMessage, t.info.MaxReadWrite = 1<<20, 1<<20
	}
	x := &fuzzSession{e: e, t: t, conn: e.srv.Handler(t).(*Conn)}
	x.conn.neg.Store(&negotiated{
		dialect: wire.Dialect302, serverCaps: wire.CapLargeMTU | wire.CapMultiChannel, maxRead: 1 << 20, maxWrite: 1 << 20, maxTransact: 1 << 20,
	})
	x.s = &Session{
		id: e.srv.newSessionID(), srv: e.srv, dialect: wire.Dialect302, channels: map[*Conn]*channel{}, trees: map[uint32]*Tree{}, opens: map[uint64]*Open{},
	}
	x.s.user.Store(&Identity{Name: "Ann"})
	if st := e.srv.addSession(x.s); st != wire.StatusSuccess {
		e.t.Fatal(st)
	}
	if st := x.conn.attach(&channel{session: x.s, conn: x.conn}); st != wire.StatusSuccess {
		e.t.Fatal(st)
	}
	x.tree = x.s.addTree(e.srv.share("data"))
	return x
}

// alive reports whether the session can take another input.
func (x *fuzzSession) alive() bool {
	return len(x.t.ended) == 0 && !x.s.hasEnded() && x.s.tree(x.tree.id) == x.tree
}

// close ends the connection, and with it the session.
func (x *fuzzSession) close() {
	x.conn.Closed(nil)
	x.e.waitFor(func() bool {
		x.e.srv.mu.Lock()
		defer x.e.srv.mu.Unlock()
		_, is := x.e.srv.conns[x.conn]
		return !is
	})
}

// waitFor waits for a condition that is about to hold.
func (e *env) waitFor(holds func() bool) {
	e.t.Helper()
	for i := 0; !holds(); i++ {
		if i < 1000 {
			runtime.Gosched()
			continue
		}
		time.Sleep(100 * time.Microsecond)
		if i > 200_000 {
			e.t.Fatal("it goes on and on")
		}
	}
}

// message makes a compound of the requests that the input describes: a byte of flags and command, the length of the body, the body.
func (x *fuzzSession) message(in []byte) (msg []byte, n int) {
	for last := -1; len(in) > 2 && n < 16; n++ {
		h := wire.Header{CreditCharge: 1, Credits: 1, Command: wire.Command(in[0] & 0x7f), MessageID: x.id + uint64(n), SessionID: x.s.id, TreeID: x.tree.id}
		if n > 0 && in[0]&0x80 == 0 {
			h.Flags |= wire.FlagRelated
		}
		size := min(int(in[1]), len(in)-2)
		at := len(msg)
		if last >= 0 {
			le.PutUint32(msg[last+nextOffset:], uint32(at-last))
		}
		last = at
		msg = append(h.Append(msg), in[2:2+size]...)
		for (len(msg)-at)%8 != 0 || len(msg)-at < wire.HeaderLen+8 {
			msg = append(msg, 0)
		}
		in = in[2+size:]
	}
	return msg, n
}

// send sends a message and waits until all of it has been executed; what waits for something is cancelled then.
func (x *fuzzSession) send(msg []byte, n int) {
	c := x.conn
	c.mu.Lock()
	c.window.grant(64-c.window.held, maxCredits)
	c.mu.Unlock()
	x.id += uint64(n)
	buf, ok := x.e.pool.TryGet(len(msg) + 16)
	if !ok {
		x.e.t.Fatal("no memory")
	}
	buf.SetLen(copy(buf.Bytes(), msg))
	c.Message(buf)
	looks := 0
	x.e.waitFor(func() bool {
		c.mu.Lock()
		busy, asyncs := c.busy, c.asyncs
		c.mu.Unlock()
		if looks++; busy > 1 && (asyncs > 0 || looks > 100) { // the answers to failed logins are delayed, without telling
			c.cancelAll()
		}
		return busy == 1
	})
}

// clean closes what has been opened and removes what has been made, and checks that nothing else is left.
func (x *fuzzSession) clean() {
	ctx := context.Background()
	x.s.mu.Lock()
	var opens []*Open
	for _, o := range x.s.opens {
		opens = append(opens, o)
	}
	x.s.mu.Unlock()
	for _, o := range opens {
		if x.s.take(o) {
			o.end(ctx)
		}
	}
	root, err := x.e.fs.Root(ctx)
	if err != nil {
		x.e.t.Fatal(err)
	}
	defer root.Release()
	empty(x.e.t, root)
	if n := x.e.srv.cfg.Locks.Counts(); n != (lock.Counts{}) {
		x.e.t.Fatalf("left behind: %+v", n)
	}
	if n := x.e.pool.Stats().Buffers; n > 0 {
		x.e.t.Fatalf("%d buffers are left: %v", n, x.e.pool.Leaks())
	}
	if n := x.conn.budget.Held(); n != 0 {
		x.e.t.Fatalf("%d bytes are counted", n)
	}
}

// empty removes all that is in a directory.
func empty(t testing.TB, dir vfs.Node) {
	ctx := context.Background()
	var names []string
	_, err := dir.ReadDir(ctx, &vfs.Cred{}, 0, 0, false, func(e *vfs.DirEntry) bool {
		names = append(names, e.Name)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		n, err := dir.Lookup(ctx, &vfs.Cred{}, name)
		if err != nil {
			t.Fatal(err)
		}
		isDir := n.Kind() == vfs.KindDirectory
		if isDir {
			empty(t, n)
		}
		n.Release()
		if err := dir.Remove(ctx, &vfs.Cred{}, name, isDir); err != nil {
			t.Fatal(err)
		}
	}
}

// part is a request as [fuzzSession.message] reads it.
func part(cmd wire.Command, body func([]byte, int) []byte) []byte {
	b := body(make([]byte, wire.HeaderLen), 0)[wire.HeaderLen:]
	b = b[:min(len(b), 255)]
	return append([]byte{byte(cmd), byte(len(b))}, b...)
}

// FuzzRequests sends whatever it likes within a session: the requests of one compound.
func FuzzRequests(f *testing.F) {
	for _, in := range requestSeeds() {
		f.Add(in)
	}
	e := newEnv(f, nil)
	var sessions [2]*fuzzSession // the second with RDMA
	f.Cleanup(func() {
		for _, x := range sessions {
			if x != nil {
				x.close()
			}
		}
	})
	f.Fuzz(func(t *testing.T, in []byte) {
		at := *e
		at.t = t
		i := len(in) % 2
		if sessions[i] == nil {
			sessions[i] = at.fuzzSession(i == 1)
		}
		x := sessions[i]
		x.e = &at
		msg, n := x.message(in)
		if n == 0 {
			return
		}
		x.send(msg, n)
		x.clean()
		if !x.alive() {
			x.close()
			sessions[i] = nil
		}
	})
}

// requestSeeds are compounds of a CREATE and what can be done with what it has opened, and each command by itself.
func requestSeeds() (list [][]byte) {
	for cmd := range wire.Commands {
		list = append(list, append([]byte{byte(cmd), 57, 57, 0}, make([]byte, 60)...))
	}
	list = append(list, []byte{byte(wire.CmdEcho), 4, 4, 0, 0, 0, byte(wire.CmdTreeDisconnect), 4, 4, 0, 0, 0})
	file := wire.CreateRequest{
		ImpersonationLevel: 2, DesiredAccess: wire.FileGenericRead | wire.FileGenericWrite | wire.Delete, Disposition: wire.FileOpenIf, ShareAccess: 7,
		OplockLevel: wire.OplockLevelBatch, Name: wire.AppendUTF16(nil, "x"),
	}
	stream, dir := file, file
	stream.Name = wire.AppendUTF16(nil, "x:s")
	dir.Name, dir.Options = nil, wire.FileDirectoryFile
	all := wire.AnyFile
	var locks wire.LockElements
	locks.Add(wire.LockElement{Offset: 1, Length: 5, Flags: wire.LockFlagExclusive})
	var into wire.Descriptors
	into.Add(0, 7, 4096)
	rename := wire.RenameInfo{Name: "y"}
	for _, c := range []wire.CreateRequest{file, stream, dir} {
		open := part(wire.CmdCreate, c.Append)
		for _, then := range [][]byte{
			part(wire.CmdWrite, (&wire.WriteRequest{FileID: all, Data: []byte("hello")}).Append),
			part(wire.CmdWrite, (&wire.WriteRequest{FileID: all, Channel: 1, ChannelInfo: into, RemainingBytes: 4096}).Append),
			part(wire.CmdRead, (&wire.ReadRequest{FileID: all, Length: 100}).Append),
			part(wire.CmdRead, (&wire.ReadRequest{FileID: all, Channel: 2, ChannelInfo: into, Length: 4096}).Append),
			part(wire.CmdLock, (&wire.LockRequest{FileID: all, Locks: locks}).Append),
			part(wire.CmdFlush, (&wire.FlushRequest{FileID: all}).Append),
			part(wire.CmdQueryInfo, (&wire.QueryInfoRequest{Type: wire.InfoFile, Class: wire.FileAllInformation, OutputLength: 1000, FileID: all}).Append),
			part(wire.CmdSetInfo, (&wire.SetInfoRequest{Type: wire.InfoFile, Class: wire.FileRenameInformation, FileID: all, Input: rename.Append(wire.FileRenameInformation, nil)}).Append),
			part(wire.CmdSetInfo, (&wire.SetInfoRequest{Type: wire.InfoFile, Class: wire.FileDispositionInformation, FileID: all, Input: []byte{1}}).Append),
			part(wire.CmdIoctl, (&wire.IoctlRequest{Code: wire.FsctlSetSparse, Flags: wire.IoctlIsFsctl, FileID: all}).Append),
			part(wire.CmdQueryDirectory, (&wire.QueryDirectoryRequest{Class: wire.FileNamesInformation, FileID: all, OutputLength: 1000, Pattern: wire.AppendUTF16(nil, "*")}).Append),
			part(wire.CmdChangeNotify, (&wire.ChangeNotifyRequest{FileID: all, OutputLength: 1000, Filter: 0xfff}).Append),
			part(wire.CmdOplockBreak, (&wire.OplockBreak{FileID: all}).Append),
		} {
			last := part(wire.CmdClose, (&wire.CloseRequest{FileID: all, Flags: wire.CloseFlagPostQueryAttrib}).Append)
			in := append(append(append([]byte(nil), open...), then...), last...)
			list = append(list, in, append(in, byte(wire.CmdLogoff), 4, 4, 0, 0, 0))
		}
	}
	return list
}

// What is done to a file while it is open, by every way there is, leaves nothing behind.
func TestRequestSeeds(t *testing.T) {
	e := newEnv(t, nil)
	for _, rdma := range []bool{false, true} {
		x := e.fuzzSession(rdma)
		for _, in := range requestSeeds() {
			msg, n := x.message(in)
			x.send(msg, n)
			x.clean()
			if !x.alive() {
				x.close()
				x = e.fuzzSession(rdma)
			}
		}
		x.close()
	}
}
