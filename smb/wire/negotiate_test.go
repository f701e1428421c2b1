package wire

import (
	"errors"
	"reflect"
	"testing"
)

func negotiateContexts() NegotiateContexts {
	var c NegotiateContexts
	c.Add(PreauthIntegrityCapabilities, preauths[0].Append)
	c.Add(EncryptionCapabilities, func(b []byte) []byte { return AppendAlgorithms(b, CipherAES128GCM, CipherAES128CCM) })
	c.Add(CompressionCapabilities, compressions[0].Append)
	c.Add(NetnameNegotiateContextID, func(b []byte) []byte { return AppendUTF16(b, "srv") })
	c.Add(TransportCapabilities, func(b []byte) []byte { return AppendTransportContext(b, AcceptTransportLevelSecurity) })
	c.Add(RDMATransformCapabilities, func(b []byte) []byte { return AppendRDMATransformContext(b, RDMATransformEncryption) })
	c.Add(SigningCapabilities, func(b []byte) []byte { return AppendAlgorithms(b, SigningAESGMAC, SigningAESCMAC) })
	c.Add(PosixExtensionsAvailable, AppendPosixContext)
	return c
}

var (
	negotiateRequests = []NegotiateRequest{
		{SecurityMode: NegotiateSigningEnabled, Capabilities: CapDFS | CapLeasing, ClientGUID: testGUID,
			Dialects: AppendUint16s(nil, Dialect210, Dialect300, Dialect302)},
		{SecurityMode: NegotiateSigningRequired, ClientGUID: testGUID, Dialects: AppendUint16s(nil, Dialect311), Contexts: negotiateContexts()},
		{Dialects: AppendUint16s(nil, Dialect311, Dialect202)},
	}
	negotiateResponses = []NegotiateResponse{
		{SecurityMode: 3, Dialect: Dialect302, ServerGUID: testGUID, Capabilities: CapLargeMTU, MaxTransactSize: 1, MaxReadSize: 2, MaxWriteSize: 3,
			SystemTime: 4, StartTime: 5, SecurityBuffer: []byte{1, 2, 3}},
		{Dialect: Dialect311, SecurityBuffer: []byte("spnego"), Contexts: negotiateContexts()},
	}
	preauths     = []PreauthContext{{Hashes: AppendUint16s(nil, HashSHA512), Salt: []byte("32 bytes of salt")}, {Hashes: AppendUint16s[uint16](nil, 1, 2), Salt: []byte{}}}
	compressions = []CompressionContext{{Flags: CompressionChained, Algorithms: AppendUint16s(nil, CompressionLZ77, CompressionPatternV1, CompressionLZ4)}}
)

func TestNegotiate(t *testing.T) {
	checkMessage(t, ParseNegotiateRequest, (*NegotiateRequest).Append, negotiateRequests...)
	checkMessage(t, ParseNegotiateResponse, (*NegotiateResponse).Append, negotiateResponses...)
	if s := Dialect311.String() + " " + Dialect(0x999).String(); s != "3.1.1 0x0999" {
		t.Error(s)
	}
}

func FuzzNegotiateRequest(f *testing.F) {
	fuzzMessage(f, ParseNegotiateRequest, (*NegotiateRequest).Append, negotiateRequests...)
}

func FuzzNegotiateResponse(f *testing.F) {
	fuzzMessage(f, ParseNegotiateResponse, (*NegotiateResponse).Append, negotiateResponses...)
}

func TestNegotiateContexts(t *testing.T) {
	c := negotiateContexts()
	if c.Len() != 8 {
		t.Fatal(c.Len())
	}
	var types []NegotiateContextType
	for typ := range c.All() {
		types = append(types, typ)
	}
	if want := []NegotiateContextType{1, 2, 3, 5, 6, 7, 8, 0x100}; !reflect.DeepEqual(types, want) {
		t.Error(types)
	}
	data := func(typ NegotiateContextType) []byte {
		d, n := c.Find(typ)
		if n != 1 {
			t.Errorf("%d contexts of type %d", n, typ)
		}
		return d
	}
	if l, err := ParseAlgorithms(data(EncryptionCapabilities)); err != nil || l.Len() != 2 || !l.Has(uint16(CipherAES128CCM)) || l.Has(9) {
		t.Error(l, err)
	}
	if l, err := ParseRDMATransformContext(data(RDMATransformCapabilities)); err != nil || l.Len() != 1 || l.At(0) != RDMATransformEncryption {
		t.Error(l, err)
	}
	if s, err := ParseNetnameContext(data(NetnameNegotiateContextID)); err != nil || s != "srv" {
		t.Error(s, err)
	}
	if v, err := ParseTransportContext(data(TransportCapabilities)); err != nil || v != AcceptTransportLevelSecurity {
		t.Error(v, err)
	}
	if ok, err := ParsePosixContext(data(PosixExtensionsAvailable)); err != nil || !ok {
		t.Error(ok, err)
	}
	if ok, err := ParsePosixContext(testGUID[:]); err != nil || ok {
		t.Error(ok, err)
	}
	if d, n := c.Find(99); d != nil || n != 0 {
		t.Error(d, n)
	}
	checkData(t, ParsePreauthContext, (*PreauthContext).Append, preauths...)
	checkData(t, ParseCompressionContext, (*CompressionContext).Append, compressions...)
	for i, err := range []error{
		second(ParseAlgorithms([]byte{1})), second(ParseAlgorithms([]byte{2, 0, 1, 0, 1})), second(ParseRDMATransformContext(make([]byte, 7))),
		second(ParseTransportContext(make([]byte, 3))), second(ParsePosixContext(nil)), second(ParsePosixContext(make([]byte, 17))),
	} {
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestNegotiateContextsMisplaced(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(msg []byte)
	}{
		{"offset not aligned", func(m []byte) { m[64+28]++ }},
		{"offset beyond", func(m []byte) { m[64+30] = 1 }},
		{"offset in the header", func(m []byte) { m[64+28] = 8; m[64+29] = 0 }},
		{"one more than there are", func(m []byte) { m[64+32]++ }},
		{"65535 of them", func(m []byte) { m[64+32] = 0xff; m[64+33] = 0xff }},
		{"one too long", func(m []byte) { m[le.Uint32(m[64+28:])+3] = 0xff }},
	} {
		m := message((*NegotiateRequest).Append, &negotiateRequests[1], 0)
		c.spoil(m)
		if r, err := ParseNegotiateRequest(m); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}

func FuzzNegotiateContexts(f *testing.F) {
	for _, d := range negotiateContexts().All() {
		f.Add(d)
	}
	f.Fuzz(func(t *testing.T, d []byte) {
		if c, err := ParsePreauthContext(d); err == nil {
			if again, err := ParsePreauthContext(c.Append(nil)); err != nil || !reflect.DeepEqual(again, c) {
				t.Fatal(again, err)
			}
		}
		if c, err := ParseCompressionContext(d); err == nil {
			if again, err := ParseCompressionContext(c.Append(nil)); err != nil || !reflect.DeepEqual(again, c) {
				t.Fatal(again, err)
			}
		}
		for _, parse := range []func([]byte) (Uint16s, error){ParseAlgorithms, ParseRDMATransformContext} {
			if l, err := parse(d); err == nil && l.Len() > 0 {
				l.At(l.Len() - 1)
			}
		}
		ParseTransportContext(d)
		ParsePosixContext(d)
		ParseNetnameContext(d)
	})
}

func TestSMB1Negotiate(t *testing.T) {
	for _, c := range []struct {
		dialects []string
		want     SMB1Negotiate
	}{
		{[]string{"NT LM 0.12"}, SMB1Negotiate{}},
		{[]string{"NT LM 0.12", "SMB 2.002", "SMB 2.???"}, SMB1Negotiate{true, true}},
		{[]string{"SMB 2.002"}, SMB1Negotiate{SMB202: true}},
	} {
		checkBytes(t, ParseSMB1Negotiate, AppendSMB1Negotiate(nil, c.dialects...), c.want)
	}
	b := AppendSMB1Negotiate(nil, "SMB 2.002")
	b[len(b)-1] = 'x'
	if _, err := ParseSMB1Negotiate(b); err == nil {
		t.Error("a dialect without end was taken")
	}
}

func FuzzSMB1Negotiate(f *testing.F) {
	f.Add(AppendSMB1Negotiate(nil, "NT LM 0.12", "SMB 2.002", "SMB 2.???"))
	f.Fuzz(func(t *testing.T, b []byte) { ParseSMB1Negotiate(b) })
}
