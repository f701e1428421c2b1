package smbdirect

import (
	"testing"
	"testing/synctest"
	"time"
)

// The tests of this file and its neighbours carry the names of the cases of
// Microsoft's MS-SMBD test suite that they stand for.

func bubble(t *testing.T, o options, f func(t *testing.T, e *env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, o)
		f(t, e)
		e.stop()
	})
}

func accepted(t *testing.T, r negotiateRequest) negotiateResponse {
	t.Helper()
	var resp negotiateResponse
	bubble(t, options{}, func(t *testing.T, e *env) {
		p := e.newPeer()
		defer p.close()
		resp = p.negotiate(r)
		if resp.status != statusSuccess || resp.negotiated != version || resp.minVersion != version || resp.maxVersion != version {
			t.Fatalf("%+v", resp)
		}
		p.send(data(10, 10, 0, pattern(100)))
		if got := p.message(); string(got) != string(pattern(100)) {
			t.Fatalf("echo of %d bytes", len(got))
		}
	})
	return resp
}

func TestBVT_SmbdNegotiate_Basic(t *testing.T) {
	want := negotiateResponse{
		minVersion: version, maxVersion: version, negotiated: version,
		creditsRequested: 255, creditsGranted: firstReceives, maxReadWriteSize: 8 << 20,
		preferredSendSize: 1364, maxReceiveSize: 1364, maxFragmentedSize: 1 << 20,
	}
	if got := accepted(t, usual()); got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestSmbdNegotiate_PreferredSendSizeWithZero(t *testing.T) {
	r := usual()
	r.preferredSendSize = 0
	if got := accepted(t, r); got.maxReceiveSize != 128 {
		t.Errorf("%+v", got)
	}
}

func TestSmbdNegotiate_PreferredSendSizeLessThan128(t *testing.T) {
	r := usual()
	r.preferredSendSize = 127
	if got := accepted(t, r); got.maxReceiveSize != 128 {
		t.Errorf("%+v", got)
	}
}

func TestSmbdNegotiate_PreferredSendSizeMaxValue(t *testing.T) {
	r := usual()
	r.preferredSendSize = 1<<32 - 1
	if got := accepted(t, r); got.maxReceiveSize != 1364 {
		t.Errorf("%+v", got)
	}
}

// A Linux client receives 1364 bytes, and refuses a server that prefers to send more.
func TestPreferredSendSizeNeverAbovePeersReceive(t *testing.T) {
	for _, size := range []uint32{128, 1000, 1364, 1<<32 - 1} {
		r := usual()
		r.maxReceiveSize = size
		if got := accepted(t, r); got.preferredSendSize > size || got.preferredSendSize > 1364 {
			t.Errorf("peer receives %d: %+v", size, got)
		}
	}
}

func TestSmbdNegotiate_Redundancy(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		p := e.newPeer()
		defer p.close()
		p.send(append(usual().append(nil), make([]byte, 512-requestLen)...))
		if r, err := parseResponse(p.recv()); err != nil || r.status != statusSuccess {
			t.Fatal(r, err)
		}
	})
}

func TestSmbdNegotiate_DisconnectAfterNegotiate(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		p := e.newPeer()
		p.negotiate(usual())
		p.close()
		synctest.Wait()
		if n := len(e.srv.Conns()); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

func TestSmbdNegotiate_UncompletedMessage(t *testing.T) {
	for i := range requestLen {
		refused(t, usual().append(nil)[:i])
	}
}

func refused(t *testing.T, msg []byte) {
	t.Helper()
	bubble(t, options{}, func(t *testing.T, e *env) {
		p := e.newPeer()
		p.send(msg)
		if b := p.gone(); b != nil {
			t.Errorf("the server answers % x", b)
		}
	})
}

func versions(t *testing.T, low, high uint16) {
	t.Helper()
	r := usual()
	r.minVersion, r.maxVersion = low, high
	accepted(t, r)
}

// notSupported: the answer says so, and everything else in it is zero.
func notSupported(t *testing.T, low, high uint16) {
	t.Helper()
	bubble(t, options{}, func(t *testing.T, e *env) {
		p := e.newPeer()
		r := usual()
		r.minVersion, r.maxVersion = low, high
		p.send(r.append(nil))
		got, err := parseResponse(p.gone())
		if want := (negotiateResponse{minVersion: version, maxVersion: version, status: statusNotSupported}); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestSmbdNegotiate_VersionRangeNotCover0x0100_LessThanMinVersion(t *testing.T) {
	notSupported(t, 0x0010, 0x00ff)
}

func TestSmbdNegotiate_VersionRangeNotCover0x0100_LargerThanMaxVersion(t *testing.T) {
	notSupported(t, 0x0101, 0x0200)
}

func TestSmbdNegotiate_VersionRangeCover0x0100_EqualMinVersion(t *testing.T) {
	versions(t, 0x0100, 0x0200)
}

func TestSmbdNegotiate_VersionRangeCover0x0100_EqualMaxVersion(t *testing.T) {
	versions(t, 0x0010, 0x0100)
}

func TestSmbdNegotiate_VersionRangeCover0x0100_InMiddle(t *testing.T) { versions(t, 0x0010, 0x0200) }

func TestSmbdNegotiate_VersionRangeCover0x0100_EqualMinVersionAndMaxVersion(t *testing.T) {
	versions(t, 0x0100, 0x0100)
}

func TestSmbdNegotiate_NegativeParameter_CreditsRequested(t *testing.T) {
	r := usual()
	r.creditsRequested = 0
	refused(t, r.append(nil))
}

func TestSmbdNegotiate_NegativeParameter_MaxReceiveSize(t *testing.T) {
	for _, n := range []uint32{0, 127} {
		r := usual()
		r.maxReceiveSize = n
		refused(t, r.append(nil))
	}
}

func TestSmbdNegotiate_NegativeParameter_MaxFragmentedSize(t *testing.T) {
	for _, n := range []uint32{0, minFragmentedSize - 1} {
		r := usual()
		r.maxFragmentedSize = n
		refused(t, r.append(nil))
	}
}

func TestSmbdNegotiate_NegotiationTimer(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		p := e.newPeer()
		defer p.close()
		time.Sleep(4 * time.Second)
		p.negotiate(usual())
	})
}

func TestSmbdNegotiate_NegotiationTimer_Timeout(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		p := e.newPeer()
		start := time.Now()
		if b := p.gone(); b != nil {
			t.Errorf("the server says % x", b)
		}
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("dropped after %v", d)
		}
	})
}
