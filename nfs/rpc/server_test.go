package rpc

import (
	"bytes"
	"context"
	"net/netip"
	"testing"

	"fileserver/nfs/xdr"
)

const testProg = 400100

func testConn(id uint64, addr string) *Conn {
	return &Conn{ID: id, Transport: "mem", RemoteAddr: netip.MustParseAddrPort(addr)}
}

func serve(t testing.TB, s *Server, conn *Conn, msg []byte) ([]byte, bool) {
	t.Helper()
	c := &Call{Conn: conn, Message: xdr.NewDecoder(msg), Limits: Limits{Inline: 1 << 20}}
	var r Reply
	ok := s.Serve(context.Background(), c, &r)
	defer r.ReleasePayloads()
	return r.AppendInline(nil), ok
}

func words(w ...uint32) []byte {
	var b []byte
	for _, v := range w {
		b = xdr.AppendUint32(b, v)
	}
	return b
}

func testProgram(calls *int) *Program {
	return &Program{Prog: testProg, Vers: 3, Name: "test", Procs: []Procedure{
		0: {},
		1: {Name: "ECHO", Serve: func(_ context.Context, c *Call, r *Reply) AcceptStat {
			*calls++
			v := c.Args.Uint32()
			if c.Args.Finish() != nil {
				r.Head = append(r.Head, "half a result"...)
				return GarbageArgs
			}
			r.Head = xdr.AppendUint32(r.Head, v)
			return Success
		}},
		2: {Name: "PANIC", Serve: func(_ context.Context, _ *Call, r *Reply) AcceptStat {
			r.Head = append(r.Head, 1, 2, 3, 4)
			panic("on purpose")
		}},
		4: {Name: "WHO", Serve: func(_ context.Context, c *Call, r *Reply) AcceptStat {
			r.Head = xdr.AppendUint32(r.Head, c.Cred.UID)
			r.Head = xdr.AppendUint32(r.Head, c.Cred.GID)
			r.Head = xdr.AppendString(r.Head, c.Machine)
			for _, g := range c.Cred.Groups {
				r.Head = xdr.AppendUint32(r.Head, g)
			}
			return Success
		}},
	}}
}

func TestServeHeader(t *testing.T) {
	var calls int
	old := testProgram(new(int))
	old.Vers = 2
	s, err := NewServer(Config{}, testProgram(&calls), old)
	if err != nil {
		t.Fatal(err)
	}
	sys := AppendAuthSys(nil, 7, "box", 1000, 100, []uint32{5, 6, 5})
	accepted := func(stat AcceptStat, rest ...uint32) []byte {
		return append(words(9, 1, 0, 0, 0, uint32(stat)), words(rest...)...)
	}
	tests := []struct {
		name string
		msg  []byte
		want []byte // nil: no reply
	}{
		{"null", AppendCall(nil, 9, testProg, 3, 0, AuthNone, nil), accepted(Success)},
		{"null, auth sys", AppendCall(nil, 9, testProg, 3, 0, AuthSys, sys), accepted(Success)},
		{"echo", append(AppendCall(nil, 9, testProg, 3, 1, AuthSys, sys), words(77)...), accepted(Success, 77)},
		{"who", AppendCall(nil, 9, testProg, 3, 4, AuthSys, sys), accepted(Success, 1000, 100, 3, 'b'<<24|'o'<<16|'x'<<8, 5, 6)},
		{"who, none", AppendCall(nil, 9, testProg, 3, 4, AuthNone, nil), accepted(Success, 65534, 65534, 0)},
		{"args short", AppendCall(nil, 9, testProg, 3, 1, AuthNone, nil), accepted(GarbageArgs)},
		{"args long", append(AppendCall(nil, 9, testProg, 3, 1, AuthNone, nil), words(1, 2)...), accepted(GarbageArgs)},
		{"panic", AppendCall(nil, 9, testProg, 3, 2, AuthNone, nil), accepted(SystemErr)},
		{"hole in the table", AppendCall(nil, 9, testProg, 3, 3, AuthNone, nil), accepted(ProcUnavail)},
		{"behind the table", AppendCall(nil, 9, testProg, 3, 5, AuthNone, nil), accepted(ProcUnavail)},
		{"huge procedure", AppendCall(nil, 9, testProg, 3, 1<<31, AuthNone, nil), accepted(ProcUnavail)},
		{"version too high", AppendCall(nil, 9, testProg, 4, 0, AuthNone, nil), accepted(ProgMismatch, 2, 3)},
		{"version too low", AppendCall(nil, 9, testProg, 1, 0, AuthNone, nil), accepted(ProgMismatch, 2, 3)},
		{"no such program", AppendCall(nil, 9, 100227, 3, 0, AuthNone, nil), accepted(ProgUnavail)},
		{"rpc version", words(9, 0, 3, testProg, 3, 0, 0, 0, 0, 0), words(9, 1, 1, 0, 2, 2)},
		{"gss", AppendCall(nil, 9, testProg, 3, 0, 6, []byte{1, 2, 3}), words(9, 1, 1, 1, uint32(AuthBadCred))},
		{"auth tls", AppendCall(nil, 9, testProg, 3, 0, 7, nil), words(9, 1, 1, 1, uint32(AuthBadCred))},
		{"auth sys empty", AppendCall(nil, 9, testProg, 3, 0, AuthSys, nil), words(9, 1, 1, 1, uint32(AuthBadCred))},
		{"17 groups", AppendCall(nil, 9, testProg, 3, 0, AuthSys, AppendAuthSys(nil, 0, "", 1, 1, make([]uint32, 17))), words(9, 1, 1, 1, uint32(AuthBadCred))},
		{"machine name of 256", AppendCall(nil, 9, testProg, 3, 0, AuthSys, AppendAuthSys(nil, 0, string(make([]byte, 256)), 1, 1, nil)), words(9, 1, 1, 1, uint32(AuthBadCred))},
		{"credential of 404", AppendCall(nil, 9, testProg, 3, 0, AuthNone, make([]byte, 404)), words(9, 1, 1, 1, uint32(AuthBadCred))},
		{"verifier not none", words(9, 0, 2, testProg, 3, 0, 0, 0, 1, 0), words(9, 1, 1, 1, uint32(AuthBadVerf))},
		{"verifier with body", words(9, 0, 2, testProg, 3, 0, 0, 0, 0, 4, 1), words(9, 1, 1, 1, uint32(AuthBadVerf))},
		{"reply", words(9, 1, 0, 0, 0, 0), nil},
		{"empty", nil, nil},
		{"header ends early", words(9, 0, 2, testProg, 3), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := serve(t, s, testConn(1, "127.0.0.1:900"), tt.msg)
			if ok != (tt.want != nil) {
				t.Fatalf("replied: %v, %x", ok, got)
			}
			if ok && !bytes.Equal(got, tt.want) {
				t.Fatalf("got  %x\nwant %x", got, tt.want)
			}
		})
	}
}

func TestServeTruncated(t *testing.T) {
	var calls int
	s, err := NewServer(Config{}, testProgram(&calls))
	if err != nil {
		t.Fatal(err)
	}
	msg := append(AppendCall(nil, 9, testProg, 3, 1, AuthSys, AppendAuthSys(nil, 7, "box", 1, 1, []uint32{5})), words(77)...)
	for i := range msg {
		got, ok := serve(t, s, testConn(1, "127.0.0.1:900"), msg[:i])
		if ok && len(got) < 20 {
			t.Fatalf("prefix of %d bytes: reply %x", i, got)
		}
		if ok && bytes.Equal(got[8:], words(0, 0, 0, 0, 77)) {
			t.Fatalf("prefix of %d bytes succeeded", i)
		}
	}
}

func TestRegisteredTwice(t *testing.T) {
	var calls int
	if _, err := NewServer(Config{}, testProgram(&calls), testProgram(&calls)); err == nil {
		t.Fatal("no error")
	}
}
