package rpc

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"
)

func encoded(t testing.TB, m io.WriterTo) []byte {
	t.Helper()
	var w bytes.Buffer
	if _, err := m.WriteTo(&w); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

func TestCallHeader(t *testing.T) {
	sys := rpcv2.AuthsysParms{Stamp: 1, Machinename: "box", Uid: 2, Gid: 3, Gids: []uint32{4, 5}}
	cred := AppendAuthSys(nil, 1, "box", 2, 3, []uint32{4, 5})
	if want := encoded(t, &sys); !bytes.Equal(cred, want) {
		t.Fatalf("credential\n%x, theirs\n%x", cred, want)
	}
	theirs := rpcv2.RpcMsg{Xid: 9, Body: &rpcv2.RpcMsgBody_CALL{Cbody: rpcv2.CallBody{
		Rpcvers: 2, Prog: 10, Vers: 11, Proc: 12, Cred: rpcv2.OpaqueAuth{Flavor: rpcv2.AUTH_SYS, Body: cred}, Verf: rpcv2.OpaqueAuth{Flavor: rpcv2.AUTH_NONE},
	}}}
	if ours, want := AppendCall(nil, 9, 10, 11, 12, AuthSys, cred), encoded(t, &theirs); !bytes.Equal(ours, want) {
		t.Fatalf("call\n%x, theirs\n%x", ours, want)
	}
}

func accepted(d rpcv2.AcceptedReplyData) *rpcv2.RpcMsg {
	return &rpcv2.RpcMsg{Xid: 9, Body: &rpcv2.RpcMsgBody_REPLY{Rbody: &rpcv2.ReplyBody_MSG_ACCEPTED{Areply: rpcv2.AcceptedReply{
		Verf: rpcv2.OpaqueAuth{Flavor: rpcv2.AUTH_NONE}, ReplyData: d,
	}}}}
}

func TestReplyHeaders(t *testing.T) {
	mismatch := &rpcv2.RejectedReply_RPC_MISMATCH{}
	mismatch.MismatchInfo.Low, mismatch.MismatchInfo.High = 2, 2
	denied := func(r rpcv2.RejectedReply) *rpcv2.RpcMsg {
		return &rpcv2.RpcMsg{Xid: 9, Body: &rpcv2.RpcMsgBody_REPLY{Rbody: &rpcv2.ReplyBody_MSG_DENIED{Rreply: r}}}
	}
	for name, tt := range map[string]struct {
		ours   []byte
		theirs *rpcv2.RpcMsg
	}{
		"success":      {appendAccepted(nil, 9, Success), accepted(&rpcv2.AcceptedReplyData_SUCCESS{})},
		"prog unavail": {appendAccepted(nil, 9, ProgUnavail), accepted(&rpcv2.AcceptedReplyData_default{Stat: rpcv2.PROG_UNAVAIL})},
		"proc unavail": {appendAccepted(nil, 9, ProcUnavail), accepted(&rpcv2.AcceptedReplyData_default{Stat: rpcv2.PROC_UNAVAIL})},
		"garbage args": {appendAccepted(nil, 9, GarbageArgs), accepted(&rpcv2.AcceptedReplyData_default{Stat: rpcv2.GARBAGE_ARGS})},
		"system err":   {appendAccepted(nil, 9, SystemErr), accepted(&rpcv2.AcceptedReplyData_default{Stat: rpcv2.SYSTEM_ERR})},
		"rpc mismatch": {appendRPCMismatch(nil, 9), denied(mismatch)},
		"auth error":   {appendAuthError(nil, 9, AuthBadVerf), denied(&rpcv2.RejectedReply_AUTH_ERROR{Stat: rpcv2.AUTH_BADVERF})},
	} {
		if want := encoded(t, tt.theirs); !bytes.Equal(tt.ours, want) {
			t.Errorf("%s\n%x, theirs\n%x", name, tt.ours, want)
		}
	}
}

// FuzzServe: whatever comes is refused or executed as go-xdr understands it, with one reply that it understands.
func FuzzServe(f *testing.F) {
	sys := AppendAuthSys(nil, 7, "box", 1, 1, []uint32{5})
	f.Add(append(AppendCall(nil, 9, testProg, 3, 1, AuthSys, sys), words(77)...))
	f.Add(AppendCall(nil, 9, testProg, 3, 4, AuthNone, nil))
	f.Add(AppendCall(nil, 9, testProg, 4, 0, AuthNone, nil))
	f.Add(AppendCall(nil, 9, testProg, 3, 9, 6, []byte("gss")))
	f.Add(words(9, 0, 3, testProg, 3, 0, 0, 0, 0, 0))
	f.Add(words(9, 1, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, msg []byte) {
		calls := 0
		s, err := NewServer(Config{}, testProgram(&calls))
		if err != nil {
			t.Fatal(err)
		}
		reply, replied := serve(t, s, testConn(1, "192.0.2.1:900"), msg)
		r := bytes.NewReader(msg)
		var m rpcv2.RpcMsg
		_, err = m.ReadFrom(r)
		body, isCall := m.Body.(*rpcv2.RpcMsgBody_CALL)
		if !replied {
			if err == nil && isCall {
				t.Fatal("a call without reply")
			}
			return
		}
		var got rpcv2.RpcMsg
		if _, err := got.ReadFrom(bytes.NewReader(reply)); err != nil {
			t.Fatalf("reply %x: %v", reply, err)
		}
		if err != nil && strings.Contains(err.Error(), "padding") {
			return // ours does not look at pads
		}
		if err != nil || !isCall || body.Cbody.Rpcvers != 2 {
			if calls > 0 {
				t.Fatalf("executed what is not a call: %v", err)
			}
			return
		}
		if _, denied := got.Body.(*rpcv2.RpcMsgBody_REPLY).Rbody.(*rpcv2.ReplyBody_MSG_DENIED); denied == admissible(&body.Cbody) {
			t.Fatalf("denied: %v, credential %+v", denied, body.Cbody.Cred)
		}
		if calls > 0 != (admissible(&body.Cbody) && body.Cbody.Prog == testProg && body.Cbody.Vers == 3 && body.Cbody.Proc == 1) {
			t.Fatalf("executed %d times: %+v", calls, body.Cbody)
		}
	})
}

// admissible reports whether the credential is one that must be accepted.
func admissible(c *rpcv2.CallBody) bool {
	if c.Verf.Flavor != rpcv2.AUTH_NONE || len(c.Verf.Body) > 0 {
		return false
	}
	switch c.Cred.Flavor {
	case rpcv2.AUTH_NONE:
		return true
	case rpcv2.AUTH_SYS:
		var p rpcv2.AuthsysParms
		r := bytes.NewReader(c.Cred.Body)
		_, err := p.ReadFrom(r)
		if err != nil && (strings.Contains(err.Error(), "non-ASCII") || strings.Contains(err.Error(), "padding")) {
			// A name, and a pad, is any bytes here: look again, with what theirs wants in its place.
			body := append(c.Cred.Body[:8:8], asciiName(c.Cred.Body)...)
			return admissible(&rpcv2.CallBody{Cred: rpcv2.OpaqueAuth{Flavor: rpcv2.AUTH_SYS, Body: body}})
		}
		return err == nil && r.Len() == 0
	}
	return false
}

// asciiName is what follows the length of the name in an AUTH_SYS body, with the name in ASCII and its pad zero.
func asciiName(body []byte) []byte {
	rest := bytes.Clone(body[8:])
	n := uint64(body[4])<<24 | uint64(body[5])<<16 | uint64(body[6])<<8 | uint64(body[7])
	for i := range min((n+3)&^3, uint64(len(rest))) {
		if rest[i] &= 0x7f; i >= n {
			rest[i] = 0
		}
	}
	return rest
}
