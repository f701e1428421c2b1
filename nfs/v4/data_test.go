package v4_test

import (
	"bytes"
	"strings"
	"testing"

	"fileserver/nfs/rpc"
	v4 "fileserver/nfs/v4"
	"fileserver/nfs/xdr"
)

// fixed is a request whose SEQUENCE is advanced in place, and a reply that is used again.
type fixed struct {
	c     *client
	msg   []byte
	seqAt int
	call  rpc.Call
	reply rpc.Reply
	head  []byte
}

func (c *client) fixed(ops ...arg) *fixed {
	cred := rpc.AppendAuthSys(nil, 0, "test", c.uid, c.uid, nil)
	head := rpc.AppendCall(nil, 7, v4.Program, v4.Version, 1, c.flavor, cred)
	f := &fixed{c: c, head: make([]byte, 0, 4096)}
	f.seqAt = len(head) + 4 + 4 + 4 + 4 + 4 + 16 // tag, minor version, count, operation, session
	f.msg = append(head, encode(c.t, c.minor, append([]arg{c.sequence()}, ops...)...)...)
	c.seq[0]--
	return f
}

func (f *fixed) run() {
	c := f.c
	c.seq[0]++
	xdr.PutUint32(f.msg, f.seqAt+0, c.seq[0])
	f.call.Conn, f.call.Buffers, f.call.Message = c.conn, c.pool, xdr.NewDecoder(f.msg)
	f.call.Limits = rpc.Limits{Inline: c.inline, Payloads: c.rdma}
	f.reply.Reset(f.head)
	if !c.rpc.Serve(bg, &f.call, &f.reply) {
		c.t.Fatal("no reply")
	}
	f.head = f.reply.Head
	if st := f.call.Status; st != 0 {
		c.t.Fatalf("status %d", st)
	}
}

func TestNoAllocation(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	s, fh := c.open("o", 3, 0)
	c.ok(putfh(fh), write(s, 0, strings.Repeat("x", 1<<16)))
	for name, f := range map[string]*fixed{
		"SEQUENCE, PUTFH, READ":  c.fixed(putfh(fh), read(s, 100, 1<<15)),
		"SEQUENCE, PUTFH, WRITE": c.fixed(putfh(fh), write(s, 100, strings.Repeat("y", 1<<15))),
	} {
		if n := testing.AllocsPerRun(200, f.run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		f.reply.ReleasePayloads()
	}
}

func TestPlacement(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	s, fh := c.open("o", 3, 0)
	content := strings.Repeat("0123456789", 1000)
	c.ok(putfh(fh), write(s, 0, content))
	c.ok(putroot(), lookup("data"), symlink("l", "target"))
	// Two READs and a READLINK: each has its place, in this order, and no more than fits there.
	conn := *c.conn
	conn.Transport = "mem"
	c.conn, c.inline, c.rdma = &conn, 1024, []int{100, 4096, 50}
	f := c.fixed(putfh(fh), read(s, 0, 1000), read(s, 10, 1000), putroot(), lookup("data"), lookup("l"), readlink())
	f.run()
	if len(f.reply.Payloads) != 3 {
		t.Fatalf("%d payloads", len(f.reply.Payloads))
	}
	for i, want := range []string{content[:100], content[10:1010], "target"} {
		if p := &f.reply.Payloads[i]; !p.Placeable || string(p.Bytes()) != want {
			t.Errorf("payload %d: %d bytes, placeable %v", i, p.Len, p.Placeable)
		}
	}
	f.reply.ReleasePayloads()
	// Without a place what fits inline is returned.
	c.rdma = nil
	if d, eof := data(c.ok(putfh(fh), read(s, 0, 5000))[1]); len(d) < 500 || len(d) > 1024 || eof {
		t.Errorf("READ inline: %d bytes, %v", len(d), eof)
	}
	// The data of a WRITE come from where the transport put them.
	f = c.fixed(putfh(fh), write(s, 0, "chunk"))
	at := bytes.Index(f.msg, []byte("chunk"))
	f.c.seq[0]++
	xdr.PutUint32(f.msg, f.seqAt, f.c.seq[0])
	call := &rpc.Call{
		Conn: c.conn, Buffers: c.pool, Limits: rpc.Limits{Inline: 1024},
		Message: xdr.NewChunkedDecoder(f.msg[:at], nil, []xdr.Chunk{{Pos: uint32(at), Data: []byte("CHUNK")}}),
	}
	var reply rpc.Reply
	if !c.rpc.Serve(bg, call, &reply) || call.Status != 0 {
		t.Fatalf("WRITE from a chunk: status %d", call.Status)
	}
	if d, _ := data(c.ok(putfh(fh), read(s, 0, 6))[1]); d != "CHUNK5" {
		t.Errorf("after WRITE from a chunk: %q", d)
	}
}

func BenchmarkRead(b *testing.B) {
	r := newRig(b)
	c := r.client("a", 1000)
	s, fh := c.open("o", 3, 0)
	c.ok(putfh(fh), write(s, 0, strings.Repeat("x", 4096)))
	f := c.fixed(putfh(fh), read(s, 0, 4096))
	b.ReportAllocs()
	b.SetBytes(4096)
	for b.Loop() {
		f.run()
	}
	f.reply.ReleasePayloads()
}

func BenchmarkWrite(b *testing.B) {
	r := newRig(b)
	c := r.client("a", 1000)
	s, fh := c.open("o", 3, 0)
	f := c.fixed(putfh(fh), write(s, 0, strings.Repeat("x", 4096)))
	b.ReportAllocs()
	b.SetBytes(4096)
	for b.Loop() {
		f.run()
	}
}
