package wire

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"testing"
)

func copychunks() Copychunks {
	c := Copychunks{Source: ResumeKey{23: 1}}
	c.Add(Copychunk{1, 1 << 40, 1 << 20})
	c.Add(Copychunk{2, 3, 4})
	return c
}

var (
	validates  = []ValidateNegotiate{{CapLeasing, testGUID, 1, AppendUint16s(nil, Dialect202, Dialect302)}}
	duplicates = []DuplicateExtents{{Source: testFile, SourceOffset: 1, TargetOffset: 1 << 40, Count: 3}}
	reparses   = []Reparse{{Tag: ReparseTagNFS, Data: []byte("data")}, {Tag: 0x1234, GUID: testGUID, Data: []byte("data")}, {Tag: ReparseTagLXFIFO}}
	symlinks   = []SymlinkReparse{{Substitute: `..\target`, Print: "../target", Flags: SymlinkRelative}}
	nfs        = []NFSReparse{{Type: NFSSpecFileLink, Target: "../t"}, {Type: NFSSpecFileBlock, Major: 8, Minor: 1}, {Type: NFSSpecFileSocket}}
	pipeWaits  = []PipeWait{{Timeout: 1 << 40, TimeoutGiven: true, Name: "srvsvc"}}
	interfaces = []NetworkInterface{
		{Index: 2, Capability: InterfaceRDMACapable, LinkSpeed: 100e9, Addr: netip.MustParseAddr("192.0.2.1")},
		{Index: 2, Capability: InterfaceRSSCapable, LinkSpeed: 1, Addr: netip.MustParseAddr("2001:db8::1")},
	}
)

func TestFsctl(t *testing.T) {
	checkData(t, ParseValidateNegotiate, (*ValidateNegotiate).Append, validates...)
	checkData(t, ParseValidateNegotiateResponse, (*ValidateNegotiate).AppendResponse, ValidateNegotiate{1, testGUID, 2, AppendUint16s(nil, Dialect302)})
	checkData(t, ParseResumeKey, func(k *ResumeKey, b []byte) []byte { return AppendResumeKey(b, *k) }, ResumeKey{23: 9})
	checkData(t, ParseCopychunks, (*Copychunks).Append, copychunks(), Copychunks{})
	checkData(t, ParseCopychunkResponse, (*CopychunkResponse).Append, CopychunkResponse{1, 2, 3})
	checkData(t, ParseDuplicateExtents, (*DuplicateExtents).Append, duplicates...)
	checkData(t, ParseDuplicateExtentsEx, (*DuplicateExtents).AppendEx, DuplicateExtents{testFile, 1, 2, 3, DuplicateExtentsSourceAtomic})
	checkData(t, ParseRange, (*Range).Append, Range{1, 1 << 62})
	checkData(t, ParseZeroData, (*ZeroData).Append, ZeroData{1, 1 << 62})
	checkData(t, ParseReparse, (*Reparse).Append, reparses...)
	checkData(t, ParseSymlinkReparse, (*SymlinkReparse).Append, symlinks...)
	for _, n := range nfs[1:] {
		checkData(t, ParseNFSReparse, (*NFSReparse).Append, n)
	}
	if n, err := ParseNFSReparse(nfs[0].Append(nil)); err != nil || n != nfs[0] {
		t.Error(n, err)
	}
	checkData(t, ParsePipeWait, (*PipeWait).Append, pipeWaits...)
	checkData(t, ParseIntegrity, (*Integrity).Append, Integrity{2, 3, 4, 5})
	checkData(t, ParseObjectID, (*ObjectID).Append, ObjectID{testGUID, GUID(testKey), testGUID, GUID{15: 1}})
	checkData(t, ParseResiliency, func(v *uint32, b []byte) []byte { return AppendResiliency(b, *v) }, 1000)
	checkData(t, ParseCompressionFormat, func(v *uint16, b []byte) []byte { return AppendCompressionFormat(b, *v) }, CompressionFormatLZNT1)
	if p, err := ParsePipePeek((&PipePeek{3, 4, 1, 4, []byte("data")}).Append(nil)); err != nil || string(p.Data) != "data" || p.State != 3 {
		t.Error(p, err)
	}
	if !ParseSetSparse(nil) || !ParseSetSparse([]byte{1}) || ParseSetSparse([]byte{0}) {
		t.Error("SET_SPARSE")
	}
	if c := copychunks(); c.Len() != 2 || c.At(1) != (Copychunk{2, 3, 4}) {
		t.Error(c)
	}
	b := (&Copychunks{}).Append(nil)
	le.PutUint32(b[24:], 0xffffffff)
	if _, err := ParseCopychunks(b); !errors.Is(err, ErrMalformed) {
		t.Error("4 billion chunks:", err)
	}
	if _, err := ParseReparse((&Reparse{Tag: ReparseTagNFS, Data: make([]byte, MaxReparseData+1)}).Append(nil)); !errors.Is(err, ErrMalformed) {
		t.Error("long reparse data:", err)
	}
	if len(AppendSnapshots(nil)) != 16 {
		t.Error("snapshots")
	}
}

func TestNetworkInterfaces(t *testing.T) {
	checkList(t, (*List).AddNetworkInterface, ParseNetworkInterfaces, interfaces...)
	l := NewList(nil, 4096)
	l.AddNetworkInterface(&interfaces[0])
	l.AddNetworkInterface(&interfaces[1])
	if b := l.Bytes(); len(b) != 304 || le.Uint32(b) != 152 || le.Uint32(b[152:]) != 0 {
		t.Errorf("%d bytes, next %d, %d", len(b), le.Uint32(b), le.Uint32(b[152:]))
	}
}

func TestRanges(t *testing.T) {
	var rs Ranges
	for _, r := range []Range{{1, 2}, {1 << 62, 4096}} {
		rs = r.Append(rs)
	}
	key, got, err := ParseTrim(AppendTrim(nil, 7, rs))
	if err != nil || key != 7 || !bytes.Equal(got, rs) || got.Len() != 2 {
		t.Error(key, got, err)
	}
	var list []Range
	for r := range got.All() {
		list = append(list, r)
	}
	if !reflect.DeepEqual(list, []Range{{1, 2}, {1 << 62, 4096}}) {
		t.Error(list)
	}
	full := AppendTrim(nil, 0, rs)
	for n := range full {
		if _, _, err := ParseTrim(full[:n]); err == nil {
			t.Errorf("%d bytes are taken", n)
		}
	}
	if _, err := ParseRanges(make([]byte, 17)); err == nil {
		t.Error("17 bytes are ranges")
	}
	for r, want := range map[Range]bool{{0, 0}: true, {1<<63 - 1, 0}: true, {1<<63 - 1, 1}: false, {1 << 63, 0}: false, {0, ^uint64(0)}: false} {
		if r.Valid() != want {
			t.Errorf("%v: %v", r, !want)
		}
	}
	q := FileRegions{Range{1, 2}, FileRegionUsageValidCachedData}
	checkBytes(t, func(b []byte) (FileRegions, error) {
		if len(b) == 0 {
			return FileRegions{}, ErrMalformed
		}
		return ParseFileRegions(b)
	}, q.Append(nil), q)
	if r, err := ParseFileRegions(nil); err != nil || r.Length != 1<<63-1 {
		t.Error(r, err)
	}
	if out, all := AppendFileRegions(nil, []FileRegions{q, q}, 63); all || len(out) != 40 || out[4] != 2 || out[8] != 1 {
		t.Error(out, all)
	}
}

func FuzzFsctl(f *testing.F) {
	c := copychunks()
	f.Add(c.Append(nil))
	f.Add(validates[0].Append(nil))
	f.Add(reparses[1].Append(nil))
	f.Add(symlinks[0].Append(nil))
	f.Add(nfs[0].Append(nil))
	f.Add(pipeWaits[0].Append(nil))
	f.Add(AppendTrim(nil, 0, (&Range{1, 2}).Append(nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := ParseCopychunks(b); err == nil && c.Len() > 0 {
			c.At(c.Len() - 1)
		}
		if v, err := ParseValidateNegotiate(b); err == nil {
			if again, err := ParseValidateNegotiate(v.Append(nil)); err != nil || !reflect.DeepEqual(again, v) {
				t.Fatal(again, err)
			}
		}
		if r, err := ParseReparse(b); err == nil {
			if again, err := ParseReparse(r.Append(nil)); err != nil || !reflect.DeepEqual(again, r) {
				t.Fatal(again, err)
			}
		}
		if s, err := ParseSymlinkReparse(b); err == nil && len(b) < 60000 {
			if again, err := ParseSymlinkReparse(s.Append(nil)); err != nil || again != s {
				t.Fatal(again, err)
			}
		}
		if n, err := ParseNFSReparse(b); err == nil {
			if again, err := ParseNFSReparse(n.Append(nil)); err != nil || again != n {
				t.Fatal(again, err)
			}
		}
		if w, err := ParsePipeWait(b); err == nil {
			if again, err := ParsePipeWait(w.Append(nil)); err != nil || again != w {
				t.Fatal(again, err)
			}
		}
		ParseDuplicateExtentsEx(b)
		ParseNetworkInterfaces(b)
		ParseFileRegions(b)
		ParsePipePeek(b)
		if _, rs, err := ParseTrim(b); err == nil && rs.Len() > 0 {
			for range rs.All() {
			}
		}
	})
}
