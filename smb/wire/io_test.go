package wire

import (
	"errors"
	"testing"
)

func descriptors(n int) Descriptors {
	var d Descriptors
	for i := range n {
		d.Add(uint64(i)<<32, uint32(i), 0xffffffff)
	}
	return d
}

var (
	readRequests = []ReadRequest{
		{Padding: 0x50, Flags: ReadFlagUnbuffered, Length: 1 << 20, Offset: 1 << 40, FileID: testFile, MinimumCount: 1},
		{Length: 8 << 20, FileID: AnyFile, Channel: ChannelRDMAV1Invalidate, RemainingBytes: 1, ChannelInfo: descriptors(1)},
		{Channel: ChannelRDMAV1, ChannelInfo: descriptors(MaxDescriptors)},
	}
	readResponses = []ReadResponse{
		{DataOffset: 80, DataLength: 4, Flags: ReadResponseRDMATransform, Data: []byte("data")},
		{DataRemaining: 1 << 20},
	}
	writeRequests = []WriteRequest{
		{Offset: 1 << 40, FileID: testFile, Flags: WriteFlagWriteThrough, Data: []byte("data")},
		{FileID: testFile, Channel: ChannelRDMAV1Invalidate, RemainingBytes: 1 << 20, ChannelInfo: descriptors(2)},
		{Channel: ChannelRDMAV1, ChannelInfo: descriptors(1), Data: []byte("both")},
		{},
	}
	lockRequests = []LockRequest{{Sequence: 0x12345678, FileID: testFile, Locks: func() (l LockElements) {
		l.Add(LockElement{Offset: 1, Length: 2, Flags: LockFlagShared | LockFlagFailImmediately})
		l.Add(LockElement{Offset: 1 << 63, Length: ^uint64(0), Flags: LockFlagUnlock})
		return l
	}()}}
)

// appendRead appends a READ response with its data.
func appendRead(r *ReadResponse, b []byte, at int) []byte { return append(r.Append(b, at), r.Data...) }

func TestReadWrite(t *testing.T) {
	checkMessage(t, ParseReadRequest, (*ReadRequest).Append, readRequests...)
	checkMessage(t, ParseReadResponse, appendRead, readResponses...)
	checkMessage(t, ParseWriteRequest, (*WriteRequest).Append, writeRequests...)
	checkMessage(t, ParseWriteResponse, (*WriteResponse).Append, WriteResponse{Count: 1 << 20})
}

func FuzzReadRequest(f *testing.F) {
	fuzzMessage(f, ParseReadRequest, (*ReadRequest).Append, readRequests...)
}

func FuzzWriteRequest(f *testing.F) {
	fuzzMessage(f, ParseWriteRequest, (*WriteRequest).Append, writeRequests...)
}

func FuzzReadResponse(f *testing.F) {
	for _, r := range readResponses {
		f.Add(message(appendRead, &r, 0))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := ParseReadResponse(b); err == nil && uint32(len(r.Data)) != r.DataLength {
			t.Fatalf("%+v", r)
		}
	})
}

// The data path parses and appends without allocating.
func TestReadWriteAllocations(t *testing.T) {
	read := message((*ReadRequest).Append, &readRequests[1], 0)
	write := message((*WriteRequest).Append, &writeRequests[1], 0)
	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() {
		h, err := ParseHeader(read)
		r, err2 := ParseReadRequest(read)
		w, err3 := ParseWriteRequest(write)
		d, err4 := ParseDescriptors(w.ChannelInfo)
		if errors.Join(err, err2, err3, err4) != nil || d.Total() == 0 {
			t.Fatal(err, err2, err3, err4)
		}
		b := h.Append(buf)
		b = (&ReadResponse{DataRemaining: r.Length}).Append(b, 0)
		(&WriteResponse{Count: w.RemainingBytes}).Append(b, 0)
	}); n > 0 {
		t.Error(n, "allocations")
	}
}

func TestDescriptors(t *testing.T) {
	d, err := ParseDescriptors(descriptors(MaxDescriptors))
	if err != nil || d.Len() != 4095 || d.Total() != 4095*0xffffffff {
		t.Error(d.Len(), d.Total(), err)
	}
	if off, token, length := d.At(4094); off != 4094<<32 || token != 4094 || length != 0xffffffff {
		t.Error(off, token, length)
	}
	for _, n := range []int{0, 1, 15, 17} {
		if _, err := ParseDescriptors(make([]byte, n)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	// Without a channel its fields are ignored.
	m := message((*ReadRequest).Append, &readRequests[1], 0)
	m[64+36], m[64+44] = 0, 0xff
	if r, err := ParseReadRequest(m); err != nil || r.ChannelInfo != nil {
		t.Error(r, err)
	}
}

func TestLock(t *testing.T) {
	checkMessage(t, ParseLockRequest, (*LockRequest).Append, lockRequests...)
	l := lockRequests[0].Locks
	if e := l.At(1); l.Len() != 2 || e != (LockElement{1 << 63, ^uint64(0), LockFlagUnlock}) {
		t.Error(l.Len(), e)
	}
	m := message((*LockRequest).Append, &lockRequests[0], 0)
	for _, n := range []uint16{0, 3, 0xffff} {
		le.PutUint16(m[HeaderLen+2:], n)
		if _, err := ParseLockRequest(m); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d locks: %v", n, err)
		}
	}
}

func FuzzLockRequest(f *testing.F) {
	fuzzMessage(f, ParseLockRequest, (*LockRequest).Append, lockRequests...)
}

func TestCloseFlush(t *testing.T) {
	checkMessage(t, ParseCloseRequest, (*CloseRequest).Append, CloseRequest{Flags: CloseFlagPostQueryAttrib, FileID: testFile})
	checkMessage(t, ParseCloseResponse, (*CloseResponse).Append, CloseResponse{1, 2, 3, 4, 5, 6, 7, FileAttributeDirectory})
	checkMessage(t, ParseFlushRequest, (*FlushRequest).Append, FlushRequest{testFile})
}

func FuzzCloseFlush(f *testing.F) {
	f.Add(message((*CloseRequest).Append, &CloseRequest{FileID: testFile}, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseCloseRequest(b)
		fl, err2 := ParseFlushRequest(b)
		if (err == nil) != (err2 == nil) || c.FileID != fl.FileID {
			t.Fatal(c, err, fl, err2)
		}
	})
}
