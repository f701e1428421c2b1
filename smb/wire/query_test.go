package wire

import (
	"bytes"
	"errors"
	"testing"
)

var (
	ioctlRequests = []IoctlRequest{
		{Code: 0x1401fc, FileID: AnyFile, Flags: IoctlIsFsctl, MaxOutputResponse: 65536},
		{Code: 1, MaxInputResponse: 2, OutputCount: 3, Input: []byte("input")},
	}
	ioctlResponses = []IoctlResponse{
		{Code: 1, FileID: testFile, Input: []byte("input"), Output: []byte("output")},
		{Output: []byte{1}}, {Input: []byte{2}}, {},
	}
	queryDirectories = []QueryDirectoryRequest{
		{Class: 0x26, Flags: QueryDirectoryReopen, FileIndex: 3, FileID: testFile, Pattern: name("*"), OutputLength: 65536}, {},
	}
	changeNotifies = []ChangeNotifyRequest{{Flags: ChangeNotifyWatchTree, OutputLength: 2048, FileID: testFile, Filter: NotifyChangeFileName}}
	queryInfos     = []QueryInfoRequest{
		{Type: InfoSecurity, OutputLength: 1 << 20, Additional: OwnerSecurityInformation, Flags: QueryInfoRestartScan, FileID: testFile},
		{Type: InfoFile, Class: 15, Input: []byte("input")},
	}
	setInfos = []SetInfoRequest{
		{Type: InfoFile, Class: 10, Additional: 1, FileID: testFile, Input: []byte("buffer")}, {Type: InfoSecurity},
	}
)

func TestIoctl(t *testing.T) {
	checkMessage(t, ParseIoctlRequest, (*IoctlRequest).Append, ioctlRequests...)
	checkMessage(t, ParseIoctlResponse, (*IoctlResponse).Append, ioctlResponses...)
}

func TestQuery(t *testing.T) {
	checkMessage(t, ParseQueryDirectoryRequest, (*QueryDirectoryRequest).Append, queryDirectories...)
	checkMessage(t, ParseChangeNotifyRequest, (*ChangeNotifyRequest).Append, changeNotifies...)
	checkMessage(t, ParseQueryInfoRequest, (*QueryInfoRequest).Append, queryInfos...)
	checkMessage(t, ParseSetInfoRequest, (*SetInfoRequest).Append, setInfos...)
	checkMessage(t, ParseOutputResponse, (*OutputResponse).Append, OutputResponse{[]byte("output")}, OutputResponse{})
	m := message((*QueryDirectoryRequest).Append, &QueryDirectoryRequest{Pattern: []byte{1}}, 0)
	if _, err := ParseQueryDirectoryRequest(m); !errors.Is(err, ErrMalformed) {
		t.Error("a pattern of one byte:", err)
	}
	if err := ParseSetInfoResponse(AppendSetInfoResponse(bytes.Clone(testHeader))); err != nil {
		t.Error(err)
	}
}

func TestOutputLength(t *testing.T) {
	for _, at := range []int{0, 24} {
		b := AppendOutputResponse(append(make([]byte, at), testHeader...), at, 0)
		b = append(b, "output"...)
		PutOutputLength(b[at:], 6)
		if r, err := ParseOutputResponse(b[at:]); err != nil || string(r.Output) != "output" {
			t.Error(r, err)
		}
	}
}

func FuzzIoctlRequest(f *testing.F) {
	fuzzMessage(f, ParseIoctlRequest, (*IoctlRequest).Append, ioctlRequests...)
}

func FuzzIoctlResponse(f *testing.F) {
	fuzzMessage(f, ParseIoctlResponse, (*IoctlResponse).Append, ioctlResponses...)
}

func FuzzQueryDirectoryRequest(f *testing.F) {
	fuzzMessage(f, ParseQueryDirectoryRequest, (*QueryDirectoryRequest).Append, queryDirectories...)
}

func FuzzChangeNotifyRequest(f *testing.F) {
	fuzzMessage(f, ParseChangeNotifyRequest, (*ChangeNotifyRequest).Append, changeNotifies...)
}

func FuzzQueryInfoRequest(f *testing.F) {
	fuzzMessage(f, ParseQueryInfoRequest, (*QueryInfoRequest).Append, queryInfos...)
}

func FuzzSetInfoRequest(f *testing.F) {
	fuzzMessage(f, ParseSetInfoRequest, (*SetInfoRequest).Append, setInfos...)
}

func FuzzOutputResponse(f *testing.F) {
	fuzzMessage(f, ParseOutputResponse, (*OutputResponse).Append, OutputResponse{[]byte("output")})
}

var (
	oplockBreaks = []OplockBreak{{Level: OplockLevelII, FileID: testFile}}
	leaseAcks    = []LeaseBreakAck{{Flags: 1, Key: testKey, State: LeaseReadCaching}}
	leaseBreaks  = []LeaseBreak{{NewEpoch: 3, Flags: LeaseBreakAckRequired, Key: testKey, CurrentState: 7, NewState: 3}}
)

func TestOplockBreak(t *testing.T) {
	checkMessage(t, ParseOplockBreak, (*OplockBreak).Append, oplockBreaks...)
	checkMessage(t, ParseLeaseBreakAck, (*LeaseBreakAck).Append, leaseAcks...)
	checkMessage(t, ParseLeaseBreak, (*LeaseBreak).Append, leaseBreaks...)
	if IsLeaseBreak(message((*OplockBreak).Append, &oplockBreaks[0], 0)) || !IsLeaseBreak(message((*LeaseBreakAck).Append, &leaseAcks[0], 0)) ||
		IsLeaseBreak(testHeader) {
		t.Error("oplocks and leases are mixed up")
	}
}

func FuzzOplockBreak(f *testing.F) {
	f.Add(message((*OplockBreak).Append, &oplockBreaks[0], 0))
	f.Add(message((*LeaseBreakAck).Append, &leaseAcks[0], 0))
	f.Add(message((*LeaseBreak).Append, &leaseBreaks[0], 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := ParseOplockBreak(b)
		_, err2 := ParseLeaseBreakAck(b)
		_, err3 := ParseLeaseBreak(b)
		if n := b2i(err == nil) + b2i(err2 == nil) + b2i(err3 == nil); n > 1 {
			t.Fatal("taken for two things")
		}
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
