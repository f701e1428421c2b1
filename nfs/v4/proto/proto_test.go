package proto_test

import (
	"testing"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

// roundTrip encodes, decodes every prefix, and the whole.
func roundTrip[T comparable](t *testing.T, v T, b []byte, decode func(*xdr.Decoder) T) {
	t.Helper()
	for n := range len(b) {
		d := xdr.NewDecoder(b[:n])
		if decode(&d); d.Err() == nil {
			t.Errorf("%v: %d of %d bytes are enough", v, n, len(b))
		}
	}
	d := xdr.NewDecoder(b)
	if got := decode(&d); got != v || d.Finish() != nil {
		t.Errorf("%v became %v: %v", v, got, d.Err())
	}
}

func TestRoundTrips(t *testing.T) {
	s := proto.StateID{Seq: 7, Other: proto.Other{1, 2, 3, 11: 12}}
	roundTrip(t, s, s.Append(nil), proto.DecodeStateID)
	id := proto.SessionID{1, 15: 16}
	roundTrip(t, id, id[:], proto.DecodeSessionID)
	v := proto.Verifier{1, 7: 8}
	roundTrip(t, v, v[:], proto.DecodeVerifier)
	for _, m := range []proto.Bitmap{{}, {1}, {0, 1}, {0, 0, 1}, {1, 2, 3}} {
		roundTrip(t, m, m.Append(nil), func(d *xdr.Decoder) proto.Bitmap { m, _ := proto.DecodeBitmap(d); return m })
	}
	type flat struct {
		a, b, c, d, e, f uint32
		ird              string
	}
	for _, ird := range [][]uint32{nil, {9}} {
		a := proto.ChannelAttrs{HeaderPad: 1, MaxRequest: 2, MaxResponse: 3, MaxResponseCached: 4, MaxOps: 5, MaxRequests: 6, IRD: ird}
		flatten := func(a proto.ChannelAttrs) flat {
			f := flat{a.HeaderPad, a.MaxRequest, a.MaxResponse, a.MaxResponseCached, a.MaxOps, a.MaxRequests, ""}
			for _, v := range a.IRD {
				f.ird += string(rune(v))
			}
			return f
		}
		roundTrip(t, flatten(a), a.Append(nil), func(d *xdr.Decoder) flat { return flatten(proto.DecodeChannelAttrs(d)) })
	}
}

func TestBitmap(t *testing.T) {
	m := proto.Bits(0, 33, 82)
	var got []int
	for a := m.Next(0); a >= 0; a = m.Next(a + 1) {
		got = append(got, a)
	}
	if len(got) != 3 || got[0] != 0 || got[1] != 33 || got[2] != 82 || m.Next(96) != -1 {
		t.Errorf("%v", got)
	}
	m.Clear(33)
	if m.Has(33) || !m.Has(82) || m.Or(proto.Bits(1)) != proto.Bits(0, 1, 82) || m.And(proto.Bits(0, 5)) != proto.Bits(0) || m.Without(proto.Bits(0)) != proto.Bits(82) {
		t.Errorf("%v", m)
	}
	// Words that no RFC assigns are noticed, too many are refused.
	d := xdr.NewDecoder([]byte{0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
	if m, beyond := proto.DecodeBitmap(&d); m != (proto.Bitmap{1}) || !beyond {
		t.Errorf("%v %v", m, beyond)
	}
	d = xdr.NewDecoder(append([]byte{0, 0, 0, 9}, make([]byte, 36)...))
	if proto.DecodeBitmap(&d); d.Err() == nil {
		t.Error("nine words were accepted")
	}
}

func TestStatus(t *testing.T) {
	for s, want := range map[proto.Status]string{proto.OK: "NFS4_OK", proto.ErrNoXattr: "NFS4ERR_NOXATTR", 77777: "nfsstat4 77777"} {
		if s.String() != want || s.Error() != want {
			t.Errorf("%d is %q, want %q", uint32(s), s.String(), want)
		}
	}
}
