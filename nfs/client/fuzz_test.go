package client

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"fileserver/nfs/rpc"
	v3 "fileserver/nfs/v3"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

// canned answers each call with the next of its replies, and after the last with errEnd.
type canned struct {
	replies [][]byte
	placed  []byte // the bulk data of the last reply
	calls   []Call
}

var errEnd = errors.New("no more replies")

func (c *canned) NewSlot(_ context.Context, n int) (Slot, error) {
	return &cannedSlot{c, make([]byte, n)}, nil
}
func (c *canned) Close() error { return nil }

type cannedSlot struct {
	c    *canned
	data []byte
}

func (s *cannedSlot) Data() []byte   { return s.data }
func (s *cannedSlot) Release() error { return nil }
func (s *cannedSlot) Do(_ context.Context, call *Call) error {
	c := s.c
	made := *call
	made.Args = bytes.Clone(call.Args)
	c.calls = append(c.calls, made)
	if len(c.replies) == 0 {
		return errEnd
	}
	call.Results, c.replies, call.Placed = c.replies[0], c.replies[1:], nil
	if len(c.replies) == 0 {
		call.Placed = c.placed[:min(len(c.placed), call.Recv)]
	}
	return nil
}

// words returns a reply of 32-bit words.
func words(v ...uint32) (b []byte) {
	for _, w := range v {
		b = xdr.AppendUint32(b, w)
	}
	return b
}

// repliesV4 returns the replies to a version 4 client that does what use does.
func repliesV4() [][]byte {
	compound := func(ops ...[]byte) []byte {
		return append(words(0, 0, uint32(len(ops))), bytes.Join(ops, nil)...)
	}
	seq := append(words(uint32(proto.OpSequence), 0), make([]byte, 16+20)...)
	attrs := proto.ChannelAttrs{MaxRequest: 1 << 20, MaxResponse: 1 << 20, MaxOps: 16, MaxRequests: 4}
	created := attrs.Append(attrs.Append(append(append(words(uint32(proto.OpCreateSession), 0), make([]byte, 16)...), words(1, 0)...)))
	fh := append(words(uint32(proto.OpGetFH), 0), xdr.AppendString(nil, "root")...)
	limits := proto.Bits(proto.AttrMaxRead, proto.AttrMaxWrite)
	got := append(limits.Append(words(uint32(proto.OpGetAttr), 0)), words(16, 0, 1<<20, 0, 1<<20)...)
	size := proto.Bits(proto.AttrSize)
	opened := append(append(words(uint32(proto.OpOpen), 0), make([]byte, 16+20+4)...), words(0, 0)...)
	sized := append(size.Append(words(uint32(proto.OpGetAttr), 0)), words(8, 0, 512)...)
	return [][]byte{
		compound(append(words(uint32(proto.OpExchangeID), 0), words(0, 7, 1, 0, 0, 0, 0, 0, 0, 0)...)),
		compound(created),
		compound(seq, words(uint32(proto.OpReclaimComplete), 0)),
		compound(seq, words(uint32(proto.OpPutRootFH), 0), words(uint32(proto.OpLookup), 0), fh, got),
		compound(seq, words(uint32(proto.OpPutFH), 0), opened, fh, sized),
		compound(seq, words(uint32(proto.OpPutFH), 0), words(uint32(proto.OpRead), 0, 1, 8), []byte("data....")),
		compound(seq, words(uint32(proto.OpPutFH), 0), words(uint32(proto.OpWrite), 0, 8, 0), make([]byte, 8)),
		compound(seq, words(uint32(proto.OpPutFH), 0), words(uint32(proto.OpCommit), 0), make([]byte, 8)),
		compound(seq, words(uint32(proto.OpPutFH), 0), words(uint32(proto.OpClose), 0)),
		compound(seq, words(uint32(proto.OpPutFH), 0), words(uint32(proto.OpRemove), 0, 1)),
	}
}

// repliesV3 returns the replies to a version 3 client that does what use does.
func repliesV3() [][]byte {
	res := func(f interface{ Append([]byte) []byte }) []byte { return f.Append(nil) }
	attr := v3.Attr{Type: v3.TypeReg, Size: 512}
	return [][]byte{
		append(append(words(0), xdr.AppendString(nil, "root")...), words(1, uint32(rpc.AuthSys))...),
		res(&v3.FsinfoRes{RtMax: 1 << 20, WtMax: 1 << 20}),
		res(&v3.CreateRes{Object: v3.Handle("file")}),
		res(&v3.GetattrRes{Attr: attr}),
		res(&v3.ReadRes{Attr: v3.PostOpAttr{Present: true, Attr: attr}, Count: 8, Data: []byte("data....")}),
		res(&v3.WriteRes{Count: 8}),
		res(&v3.CommitRes{}),
		res(&v3.WccRes{}),
	}
}

// use calls every method of a client whose server sends canned replies. Whatever they are, no result may be longer than
// was requested.
func use(t *testing.T, four bool, replies [][]byte, placed []byte) (err error) {
	ctx := t.Context()
	c := &canned{replies: replies, placed: placed}
	var m Client
	o := Options{Host: "127.0.0.1", Path: "/data", MaxIO: 64 << 10, Slots: 2}
	if four {
		m, err = MountV4(ctx, c, 2, o)
	} else {
		m, err = MountV3(ctx, c, o)
	}
	if err != nil {
		return err
	}
	defer m.Close(ctx)
	f, err := m.Open(ctx, "file", true)
	if err != nil {
		return err
	}
	io, err := f.NewIO(ctx, 8)
	if err != nil {
		return err
	}
	b, err := io.Read(ctx, 0, 8)
	if err == nil && len(b) > 8 {
		t.Fatalf("READ of 8 bytes returned %d bytes", len(b))
	}
	n, _, werr := io.Write(ctx, 0, 8, Unstable)
	if werr == nil && (n < 0 || n > 8) {
		t.Fatalf("WRITE of 8 bytes wrote %d bytes", n)
	}
	_, cerr := f.Commit(ctx)
	return errors.Join(err, werr, cerr, f.Close(ctx), m.Remove(ctx, "file"))
}

// TestReplies wants success with the whole replies, and an error whenever one reply is cut short.
func TestReplies(t *testing.T) {
	for _, four := range []bool{false, true} {
		all := repliesV3
		if four {
			all = repliesV4
		}
		if err := use(t, four, all(), nil); err != nil {
			t.Errorf("%v: %v", four, err)
		}
		for i, r := range all() {
			for n := range len(r) {
				cut := all()
				cut[i] = r[:n]
				if err := use(t, four, cut, nil); err == nil && !(four && n >= 56 && i == 8) && !unread(four, i, n, len(r)) {
					t.Errorf("%v: %d of %d bytes of reply %d were accepted", four, n, len(r), i)
				}
			}
		}
	}
}

// unread reports whether the client does not read the end of a reply.
func unread(four bool, i, n, whole int) bool {
	if !four {
		return false
	}
	switch i {
	case 0: // the part behind the sequence ID of EXCHANGE_ID
		return n >= 12+8+12
	case 1: // the back channel's attributes
		return n >= whole-28
	case 9: // change_info4
		return n >= whole-4
	}
	return false
}

func FuzzReplies(f *testing.F) {
	for i := range repliesV4() {
		f.Add(true, uint8(i), repliesV4()[i], []byte{})
	}
	for i := range repliesV3() {
		f.Add(false, uint8(i), repliesV3()[i], []byte("placed"))
	}
	f.Fuzz(func(t *testing.T, four bool, i uint8, reply, placed []byte) {
		replies := repliesV3()
		if four {
			replies = repliesV4()
		}
		at := int(i) % len(replies)
		replies[at] = reply
		if len(placed) > 0 {
			replies = replies[:at+1]
		}
		_ = use(t, four, replies, placed) // must not panic
	})
}

// TestRetries wants calls repeated when the server answers JUKEBOX or DELAY, in version 4 with the next sequence ID.
func TestRetries(t *testing.T) {
	replies := repliesV3()
	late := words(uint32(v3.ErrJukebox), 0)
	replies = append(replies[:4:4], append([][]byte{late, late}, replies[4:]...)...)
	if err := use(t, false, replies, nil); err != nil {
		t.Error(err)
	}
	replies = repliesV4()
	seq := append(words(uint32(proto.OpSequence), 0), make([]byte, 16+20)...)
	delay := append(append(words(uint32(proto.ErrDelay), 0, 2), seq...), words(uint32(proto.OpPutFH), uint32(proto.ErrDelay))...)
	busy := words(uint32(proto.ErrDelay), 0, 1, uint32(proto.OpSequence), uint32(proto.ErrDelay))
	replies = append(replies[:5:5], append([][]byte{delay, busy}, replies[5:]...)...)
	c := &canned{replies: replies}
	m, err := MountV4(t.Context(), c, 1, Options{Path: "data"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Open(t.Context(), "file", true)
	if err != nil {
		t.Fatal(err)
	}
	io, err := f.NewIO(t.Context(), 8)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.Read(t.Context(), 0, 8); err != nil || string(b) != "data...." {
		t.Fatalf("%q %v", b, err)
	}
	// In each slot a sequence ID follows the last one that was executed.
	last := map[uint32]uint32{}
	for i, call := range c.calls[2:] {
		d := xdr.NewDecoder(call.Args[sequenceAt+16:])
		id, slot := d.Uint32(), d.Uint32()
		if id != last[slot]+1 {
			t.Errorf("call %d has sequence ID %d in slot %d, after %d", i, id, slot, last[slot])
		}
		if !bytes.Equal(replies[i+2], busy) {
			last[slot] = id
		}
	}
}

// TestGrace wants the client to wait for the end of the server's grace period, and to call Notice.
func TestGrace(t *testing.T) {
	replies := repliesV4()
	seq := append(words(uint32(proto.OpSequence), 0), make([]byte, 16+20)...)
	grace := append(append(append(words(uint32(proto.ErrGrace), 0, 3), seq...), words(uint32(proto.OpPutFH), 0)...), words(uint32(proto.OpOpen), uint32(proto.ErrGrace))...)
	c := &canned{replies: append(replies[:4:4], grace, grace, replies[4])}
	var told []string
	m, err := MountV4(t.Context(), c, 2, Options{Path: "data", Notice: func(s string) { told = append(told, s) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Open(t.Context(), "file", true); err != nil || len(told) != 1 {
		t.Errorf("%v, told %q", err, told)
	}
}
