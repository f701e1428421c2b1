package smb

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"fileserver/smb/smbtest"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// slow is a transport whose responses leave when the test says so.
type slow struct {
	bare
	mu    sync.Mutex
	queue []transport.Outgoing
}

func (s *slow) Placer() transport.Placer {
	if s.rdma {
		return s
	}
	return nil
}

func (s *slow) Send(o *transport.Outgoing) error {
	s.mu.Lock()
	s.queue = append(s.queue, transport.Outgoing{Pieces: append([]transport.Piece(nil), o.Pieces...), Place: append([]transport.Piece(nil), o.Place...)})
	s.mu.Unlock()
	s.sent <- o.Len()
	return nil
}

// queued is how many responses have not left.
func (s *slow) queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// leave lets the first response leave, with the transport's lock held as transports do.
func (s *slow) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue[0].Release()
	s.queue = s.queue[1:]
}

// A connection that takes no responses holds so much memory and no more; its requests wait, in order. Others go on.
func TestHeldMemory(t *testing.T) {
	const size = 512 << 10
	for _, rdma := range []bool{false, true} {
		e := newEnv(t, func(c *Config) { c.MaxHeld = 2*1<<20 + size }) // a response of so much takes 1 MiB of the pool
		c := e.client()
		c.Connect(wire.Dialect311)
		c.MustLogin("ann", "secret")
		c.Tree(`\\s\data`, wire.StatusSuccess)
		fc := &fileClient{c, e}
		f := fc.must(want("f", wire.FileCreate)).FileID
		fc.set(f, wire.FileEndOfFileInformation, []byte{0, 0, 64, 0, 0, 0, 0, 0}, wire.StatusSuccess)
		s := e.srv.session(c.SessionID)
		b := &slow{bare: bare{rdma: rdma, sent: make(chan int, 100), info: transport.Info{RemoteAddr: netip.MustParseAddrPort("127.0.0.1:1")}}}
		conn := e.srv.Handler(b).(*Conn)
		conn.neg.Store(&negotiated{dialect: wire.Dialect311, serverCaps: wire.CapLargeMTU, maxRead: 8 << 20, maxWrite: 8 << 20, maxTransact: 1 << 20})
		if st := conn.attach(&channel{session: s, conn: conn}); st != 0 {
			t.Fatal(st)
		}
		conn.mu.Lock()
		conn.window.grant(1000, 1000)
		conn.mu.Unlock()
		rd := wire.ReadRequest{FileID: f, Length: size}
		if rdma {
			var into wire.Descriptors
			into.Add(0, 7, size)
			rd.Channel, rd.ChannelInfo = wire.ChannelRDMAV1, into
		}
		c.MessageID = 0
		send := func(reqs ...smbtest.Request) {
			msg := c.Unrelated(reqs...)
			buf, _ := e.pool.TryGet(len(msg) + 16)
			buf.SetLen(copy(buf.Bytes(), msg))
			conn.Message(buf)
		}
		read := smbtest.Request{Command: wire.CmdRead, Body: rd.Append, Charge: size >> 16}
		for range 8 {
			send(read)
		}
		// The first hold what they have read; how many get so far depends on how many are being handled at once.
		out := 0
		for end := time.Now().Add(smbtest.Timeout); ; time.Sleep(time.Millisecond) {
			if out = b.queued(); out+conn.budget.Waiting() == 8 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%d responses, %d requests wait", out, conn.budget.Waiting())
			}
		}
		for range out {
			<-b.sent
		}
		if held := conn.budget.Held(); held > conn.budget.Limit() || out < 2 || out > 4 {
			t.Errorf("rdma %v: %d responses hold %d bytes", rdma, out, held)
		}
		send(echo(nil))
		<-b.sent // is not data
		for range out + 1 {
			b.leave()
		}
		for left := 8 - out; left > 0; left-- {
			if n := <-b.sent; !rdma && n < size {
				t.Errorf("a response of %d bytes", n)
			}
			b.leave()
		}
		// Of one message: what comes first must not wait for the end.
		large := read
		large.Charge = 2 << 20 >> 16
		send(large, large, large)
		for range 3 {
			<-b.sent
			b.leave()
		}
		if n := conn.budget.Held(); n != 0 {
			t.Errorf("%d bytes are counted in the end", n)
		}
		conn.Closed(nil)
	}
}
