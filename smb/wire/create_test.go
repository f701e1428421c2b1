package wire

import (
	"bytes"
	"errors"
	"testing"
)

func createContexts() CreateContexts {
	var c CreateContexts
	c.Add(CreateDurableHandleRequestV2, durableRequests[0].Append)
	c.Add(CreateQueryMaximalAccess, nil)
	c.Add(CreateQueryOnDiskID, nil)
	c.Add(CreateAllocationSize, func(b []byte) []byte { return AppendAllocationSize(b, 1<<33) })
	c.Add(CreateRequestLease, leases[1].Append)
	c.Add(CreatePosix, func(b []byte) []byte { return AppendPosixCreate(b, 0644) })
	c.Add(CreateAppInstanceID, func(b []byte) []byte { return AppendAppInstanceID(b, testGUID) })
	return c
}

var (
	createRequests = []CreateRequest{
		{OplockLevel: OplockLevelLease, ImpersonationLevel: ImpersonationImpersonation, DesiredAccess: FileGenericRead, FileAttributes: FileAttributeNormal,
			ShareAccess: FileShareRead | FileShareDelete, Disposition: FileOpenIf, Options: FileNonDirectoryFile, Name: name("dir\\file"), Contexts: createContexts()},
		{Name: name("x")},
		{},
		{Contexts: createContexts()},
	}
	createResponses = []CreateResponse{
		{OplockLevel: OplockLevelBatch, Flags: CreateFlagReparsePoint, Action: FileCreated, CreationTime: 1, LastAccessTime: 2, LastWriteTime: 3, ChangeTime: 4,
			AllocationSize: 5, EndOfFile: 6, FileAttributes: FileAttributeArchive, FileID: testFile, Contexts: createContexts()},
		{FileID: testFile},
	}
	durableRequests   = []DurableRequestV2{{Timeout: 60000, Flags: DurableHandlePersistent, CreateGUID: testGUID}}
	durableReconnects = []DurableReconnectV2{{FileID: testFile, CreateGUID: testGUID, Flags: DurableHandlePersistent}}
	leases            = []Lease{
		{Version: 1, Key: testKey, State: LeaseReadCaching | LeaseHandleCaching},
		{Version: 2, Key: testKey, State: LeaseWriteCaching, Flags: LeaseFlagParentLeaseKeySet, ParentKey: LeaseKey(testGUID), Epoch: 4660},
	}
	sid = []byte{1, 2, 0, 0, 0, 0, 0, 22, 1, 0, 0, 0, 0xe8, 3, 0, 0}
)

func TestCreate(t *testing.T) {
	checkMessage(t, ParseCreateRequest, (*CreateRequest).Append, createRequests...)
	checkMessage(t, ParseCreateResponse, (*CreateResponse).Append, createResponses...)
	m := message((*CreateRequest).Append, &CreateRequest{Name: []byte{1, 2, 3}}, 0)
	if _, err := ParseCreateRequest(m); !errors.Is(err, ErrMalformed) {
		t.Error("a name of three bytes:", err)
	}
}

func FuzzCreateRequest(f *testing.F) {
	fuzzMessage(f, ParseCreateRequest, (*CreateRequest).Append, createRequests...)
}

func FuzzCreateResponse(f *testing.F) {
	fuzzMessage(f, ParseCreateResponse, (*CreateResponse).Append, createResponses...)
}

func TestCreateContexts(t *testing.T) {
	c := createContexts()
	n := 0
	for range c.All() {
		n++
	}
	if n != 7 {
		t.Error(n, "contexts")
	}
	if d, ok := c.Find(CreateQueryMaximalAccess); !ok || d != nil {
		t.Error(d, ok)
	}
	if d, ok := c.Find(CreatePosix); !ok || !bytes.Equal(d, []byte{0xa4, 1, 0, 0}) {
		t.Error(d, ok)
	}
	if _, ok := c.Find(CreateSDBuffer); ok {
		t.Error("found what is not there")
	}
	for i, b := range [][]byte{
		{},                           // nothing
		append([]byte{8}, c[1:]...),  // Next inside the context
		append([]byte{52}, c[1:]...), // Next not aligned
		bytes.Join([][]byte{c[:3], {1}, c[4:]}, nil),        // Next beyond the end
		bytes.Join([][]byte{c[:4], {8}, c[5:]}, nil),        // name in the fixed part
		bytes.Join([][]byte{c[:6], {3}, c[7:]}, nil),        // name too short
		bytes.Join([][]byte{c[:7], {1}, c[8:]}, nil),        // name too long
		bytes.Join([][]byte{c[:10], {16}, c[11:]}, nil),     // data in the name
		bytes.Join([][]byte{c[:10], {25}, c[11:]}, nil),     // data not aligned
		bytes.Join([][]byte{c[:12], {0x80}, c[13:]}, nil),   // data beyond the context
		bytes.Join([][]byte{c[:15], {0xff}, c[16:]}, nil),   // data of 4 GiB
		bytes.Join([][]byte{c[:len(c)-40], {0, 0, 0}}, nil), // end in the middle
	} {
		m := append(bytes.Clone(testHeader), b...)
		if _, err := parseCreateContexts(m, HeaderLen, uint32(max(len(b), 1))); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d: %v", i, err)
		}
	}
	m := append(append(bytes.Clone(testHeader), 0, 0, 0, 0), c...)
	if _, err := parseCreateContexts(m, HeaderLen+4, uint32(len(c))); !errors.Is(err, ErrMalformed) {
		t.Error("not aligned:", err)
	}
}

func TestCreateContextData(t *testing.T) {
	checkData(t, ParseDurableRequestV2, (*DurableRequestV2).Append, durableRequests...)
	checkData(t, ParseDurableReconnectV2, (*DurableReconnectV2).Append, durableReconnects...)
	checkData(t, ParseDurableResponseV2, (*DurableResponseV2).Append, DurableResponseV2{Timeout: 1, Flags: 2})
	checkData(t, ParseDurableReconnect, func(f *FileID, b []byte) []byte { return AppendDurableReconnect(b, *f) }, testFile)
	checkData(t, ParseAppInstanceID, func(g *GUID, b []byte) []byte { return AppendAppInstanceID(b, *g) }, testGUID)
	checkData(t, ParseAppInstanceVersion, (*AppInstanceVersion).Append, AppInstanceVersion{High: 1 << 40, Low: 1 << 41})
	checkData(t, ParseMaximalAccessResponse, (*MaximalAccess).Append, MaximalAccess{Status: StatusAccessDenied, Access: FileAllAccess})
	checkData(t, ParseOnDiskID, (*OnDiskID).Append, OnDiskID{DiskFileID: 1 << 40, VolumeID: 3})
	checkData(t, ParseAllocationSize, func(n *uint64, b []byte) []byte { return AppendAllocationSize(b, *n) }, 1<<40)
	checkData(t, ParseTimewarp, func(n *Filetime, b []byte) []byte { return n.append(b) }, 1<<60)
	checkData(t, ParsePosixCreate, func(n *uint32, b []byte) []byte { return AppendPosixCreate(b, *n) }, 01777)
	checkData(t, ParsePosixCreated, (*PosixCreated).Append, PosixCreated{Links: 2, ReparseTag: ReparseTagSymlink, Mode: 0755, Owner: sid, Group: sid})
	checkData(t, ParseLease, (*Lease).Append, leases[0])
	for _, l := range leases {
		b := l.Append(nil)
		if got, err := ParseLease(b); err != nil || got != l {
			t.Error(got, err)
		}
		for n := range b {
			if _, err := ParseLease(b[:n]); (err == nil) != (n == 32) {
				t.Errorf("lease of %d bytes: %v", n, err)
			}
		}
	}
	for n := range 9 {
		if _, err := ParseMaximalAccess(make([]byte, n)); (err == nil) != (n == 0 || n == 8) {
			t.Errorf("MxAc of %d bytes: %v", n, err)
		}
	}
	if len(AppendDurableRequest(nil)) != 16 || len(AppendDurableResponse(nil)) != 8 {
		t.Error("DHnQ has another length")
	}
}

func FuzzCreateContexts(f *testing.F) {
	for _, d := range createContexts().All() {
		f.Add(d)
	}
	f.Add((&PosixCreated{Owner: sid, Group: sid}).Append(nil))
	f.Fuzz(func(t *testing.T, d []byte) {
		if l, err := ParseLease(d); err == nil {
			if again, err := ParseLease(l.Append(nil)); err != nil || again != l {
				t.Fatal(again, err)
			}
		}
		ParseDurableRequestV2(d)
		ParseDurableReconnectV2(d)
		ParseDurableReconnect(d)
		ParseAppInstanceID(d)
		ParseAppInstanceVersion(d)
		ParseMaximalAccess(d)
		ParseAllocationSize(d)
		ParseTimewarp(d)
		ParsePosixCreate(d)
		ParsePosixCreated(d)
	})
}
