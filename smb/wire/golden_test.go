package wire

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// samba holds messages, contexts and information classes that the clients and the server of Samba 4.17
// exchanged. Each line has the kind of an item and its bytes.
//
//go:embed testdata/samba.txt
var samba string

// same parses b, checks that appending the result yields the same bytes, and formats it.
func same[T any](parse func([]byte) (T, error), app func(*T, []byte) []byte) func([]byte) (string, error) {
	return func(b []byte) (string, error) {
		v, err := parse(b)
		if err != nil {
			return "", err
		}
		if got := app(&v, nil); !bytes.Equal(got, b) {
			return "", fmt.Errorf("appended as %x", got)
		}
		return fmt.Sprintf("%+v", v), nil
	}
}

// sameMessage is same for a message: it copies the header and compares the body.
func sameMessage[T any](parse func([]byte) (T, error), app func(*T, []byte, int) []byte) func([]byte) (string, error) {
	return func(b []byte) (string, error) {
		return same(parse, func(v *T, to []byte) []byte { return app(v, append(to, b[:HeaderLen]...), 0) })(b)
	}
}

// sameList is same for a list of entries.
func sameList[T any](parse func([]byte) ([]T, error), add func(*List, *T) bool) func([]byte) (string, error) {
	return same(parse, func(v *[]T, b []byte) []byte {
		l := NewList(b, 1<<20)
		for i := range *v {
			add(&l, &(*v)[i])
		}
		return l.Bytes()
	})
}

func sameDir(c InfoClass) func([]byte) (string, error) {
	return sameList(func(b []byte) ([]DirEntry, error) { return ParseDirEntries(c, b) }, func(l *List, e *DirEntry) bool { return l.AddDirEntry(c, e) })
}

func sameRename(c InfoClass) func([]byte) (string, error) {
	return same(func(b []byte) (RenameInfo, error) { return ParseRenameInfo(c, b) }, func(i *RenameInfo, b []byte) []byte { return i.Append(c, b) })
}

var (
	same32   = same(ParseInfo32, func(v *uint32, b []byte) []byte { return AppendInfo32(b, *v) })
	same64   = same(ParseInfo64, func(v *uint64, b []byte) []byte { return AppendInfo64(b, *v) })
	sameName = same(ParseNameInfo, func(v *string, b []byte) []byte { return AppendNameInfo(b, *v) })
)

var goldenChecks = map[string]func([]byte) (string, error){
	"NEGOTIATE req":        sameMessage(ParseNegotiateRequest, (*NegotiateRequest).Append),
	"NEGOTIATE resp":       sameMessage(ParseNegotiateResponse, (*NegotiateResponse).Append),
	"SESSION_SETUP req":    sameMessage(ParseSessionSetupRequest, (*SessionSetupRequest).Append),
	"SESSION_SETUP resp":   sameMessage(ParseSessionSetupResponse, (*SessionSetupResponse).Append),
	"TREE_CONNECT req":     sameMessage(ParseTreeConnectRequest, (*TreeConnectRequest).Append),
	"TREE_CONNECT resp":    sameMessage(ParseTreeConnectResponse, (*TreeConnectResponse).Append),
	"CREATE req":           sameMessage(ParseCreateRequest, (*CreateRequest).Append),
	"CREATE resp":          sameMessage(ParseCreateResponse, (*CreateResponse).Append),
	"CLOSE req":            sameMessage(ParseCloseRequest, (*CloseRequest).Append),
	"CLOSE resp":           sameMessage(ParseCloseResponse, (*CloseResponse).Append),
	"FLUSH req":            sameMessage(ParseFlushRequest, (*FlushRequest).Append),
	"READ req":             sameMessage(ParseReadRequest, (*ReadRequest).Append),
	"READ resp":            sameMessage(ParseReadResponse, appendRead),
	"WRITE req":            sameMessage(ParseWriteRequest, (*WriteRequest).Append),
	"WRITE resp":           sameMessage(ParseWriteResponse, (*WriteResponse).Append),
	"LOCK req":             sameMessage(ParseLockRequest, (*LockRequest).Append),
	"IOCTL req":            sameMessage(ParseIoctlRequest, (*IoctlRequest).Append),
	"IOCTL resp":           sameMessage(ParseIoctlResponse, (*IoctlResponse).Append),
	"QUERY_DIRECTORY req":  sameMessage(ParseQueryDirectoryRequest, (*QueryDirectoryRequest).Append),
	"QUERY_DIRECTORY resp": sameMessage(ParseOutputResponse, (*OutputResponse).Append),
	"CHANGE_NOTIFY req":    sameMessage(ParseChangeNotifyRequest, (*ChangeNotifyRequest).Append),
	"CHANGE_NOTIFY resp":   sameMessage(ParseOutputResponse, (*OutputResponse).Append),
	"QUERY_INFO req":       sameMessage(ParseQueryInfoRequest, (*QueryInfoRequest).Append),
	"QUERY_INFO resp":      sameMessage(ParseOutputResponse, (*OutputResponse).Append),
	"SET_INFO req":         sameMessage(ParseSetInfoRequest, (*SetInfoRequest).Append),
	"OPLOCK_BREAK req":     sameMessage(ParseOplockBreak, (*OplockBreak).Append),
	"OPLOCK_BREAK resp":    sameMessage(ParseOplockBreak, (*OplockBreak).Append),
	"LEASE_BREAK ack":      sameMessage(ParseLeaseBreakAck, (*LeaseBreakAck).Append),
	"LEASE_BREAK resp":     sameMessage(ParseLeaseBreakAck, (*LeaseBreakAck).Append),
	"LEASE_BREAK notif":    sameMessage(ParseLeaseBreak, (*LeaseBreak).Append),
	"ERROR resp":           sameMessage(ParseErrorResponse, (*ErrorResponse).Append),

	"negctx 0x1":    same(ParsePreauthContext, (*PreauthContext).Append),
	"negctx 0x5":    same(ParseNetnameContext, func(s *string, b []byte) []byte { return AppendUTF16(b, *s) }),
	"ctx req DH2C":  same(ParseDurableReconnectV2, (*DurableReconnectV2).Append),
	"ctx req DH2Q":  same(ParseDurableRequestV2, (*DurableRequestV2).Append),
	"ctx req RqLs":  same(ParseLease, (*Lease).Append),
	"ctx resp DH2Q": same(ParseDurableResponseV2, (*DurableResponseV2).Append),
	"ctx resp MxAc": same(ParseMaximalAccessResponse, (*MaximalAccess).Append),
	"ctx resp RqLs": same(ParseLease, (*Lease).Append),

	"dir 1":  sameDir(FileDirectoryInformation),
	"dir 2":  sameDir(FileFullDirectoryInformation),
	"dir 3":  sameDir(FileBothDirectoryInformation),
	"dir 12": sameDir(FileNamesInformation),
	"dir 37": sameDir(FileIDBothDirectoryInformation),
	"dir 38": sameDir(FileIDFullDirectoryInformation),

	"query 1/4":  same(ParseBasicInfo, (*BasicInfo).Append),
	"query 1/5":  same(ParseStandardInfo, (*StandardInfo).Append),
	"query 1/6":  same64,
	"query 1/7":  same32,
	"query 1/8":  same32,
	"query 1/14": same64,
	"query 1/16": same32,
	"query 1/17": same32,
	"query 1/18": same(ParseAllInfo, (*AllInfo).Append),
	"query 1/21": sameName,
	"query 1/22": sameList(ParseStreams, (*List).AddStream),
	"query 1/28": same(ParseCompressionInfo, (*CompressionInfo).Append),
	"query 1/34": same(ParseNetworkOpenInfo, (*NetworkOpenInfo).Append),
	"query 1/35": same(ParseAttributeTagInfo, (*AttributeTagInfo).Append),
	"query 1/48": sameName,
	"query 2/1":  same(ParseFsVolumeInfo, (*FsVolumeInfo).Append),
	"query 2/3":  same(ParseFsSizeInfo, (*FsSizeInfo).Append),
	"query 2/4":  same(ParseFsDeviceInfo, (*FsDeviceInfo).Append),
	"query 2/5":  same(ParseFsAttributeInfo, (*FsAttributeInfo).Append),
	"query 2/11": same(ParseFsSectorSizeInfo, (*FsSectorSizeInfo).Append),
	"set 1/4":    same(ParseBasicInfo, (*BasicInfo).Append),
	"set 1/10":   sameRename(FileRenameInformation),
	"set 1/11":   sameRename(FileLinkInformation),
	"set 1/14":   same64,
	"set 1/19":   same64,
	"set 1/20":   same64,

	"ioctl in 0x000940cf":  same(ParseRange, (*Range).Append),
	"ioctl in 0x000980c8":  same(ParseZeroData, (*ZeroData).Append),
	"ioctl in 0x00140204":  same(ParseValidateNegotiate, (*ValidateNegotiate).Append),
	"ioctl in 0x001440f2":  same(ParseCopychunks, (*Copychunks).Append),
	"ioctl in 0x001480f2":  same(ParseCopychunks, (*Copychunks).Append),
	"ioctl out 0x000900c0": same(ParseObjectID, (*ObjectID).Append),
	"ioctl out 0x00140078": same(ParseResumeKey, func(k *ResumeKey, b []byte) []byte { return AppendResumeKey(b, *k) }),
	"ioctl out 0x00140204": same(ParseValidateNegotiateResponse, (*ValidateNegotiate).AppendResponse),
	"ioctl out 0x001440f2": same(ParseCopychunkResponse, (*CopychunkResponse).Append),
	"ioctl out 0x001480f2": same(ParseCopychunkResponse, (*CopychunkResponse).Append),
}

// goldenMeans is the expected value of some items of samba, formatted by %+v.
var goldenMeans = map[string]string{
	"NEGOTIATE resp":       "Dialect:3.1.1",
	"TREE_CONNECT resp":    "ShareType:2 ",
	"LEASE_BREAK notif":    "NewEpoch:19 Flags:1 Key:[13 240 221 224 254 15 220 186 242 15 34 31 1 240 35 69] CurrentState:7 NewState:5}",
	"READ req":             "Length:3000 Offset:0 FileID:{Persistent:1314166997 Volatile:1206915387}",
	"WRITE resp":           "Count:3000",
	"IOCTL req":            "Code:FSCTL 0x000900c4",
	"QUERY_INFO req":       "Type:2 Class:3 OutputLength:65535",
	"ctx resp DH2Q":        "Timeout:300000",
	"dir 2":                "EndOfFile:0 AllocationSize:0 FileAttributes:32 EASize:0",
	"dir 37":               "FileID:10879233 Device:0 Links:0 Mode:0 Owner:[] Group:[] Name:test_time_t_15032385535.txt",
	"query 1/18":           "AllocationSize:4096 EndOfFile:1 Links:1 DeletePending:false Directory:false} IndexNumber:10879265 EASize:0 Access:2032127",
	"query 1/22":           "Size:3000 AllocationSize:4096 Name:::$DATA",
	"query 1/34":           "AllocationSize:4096 EndOfFile:0 FileAttributes:32",
	"query 2/1":            "SupportsObjects:false Label:share",
	"query 2/5":            "MaxNameLength:255 Name:NTFS",
	"query 2/11":           "Logical:512 ",
	"set 1/11":             `Name:\h.bin`,
	"ioctl in 0x00140204":  "Capabilities:127 ",
	"ioctl out 0x001480f2": "{Chunks:1 ChunkBytes:0 TotalBytes:3000}",
	"negctx 0x5":           "127.0.0.1",
}

func TestGolden(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(samba) {
		what, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		what, _, _ = strings.Cut(what, " resp 0x")
		if what == "ERROR" {
			what = "ERROR resp"
		}
		b, err := hex.DecodeString(text)
		check := goldenChecks[what]
		if err != nil || check == nil {
			t.Errorf("%q: %v", what, err)
			continue
		}
		got, err := check(b)
		if err != nil {
			t.Errorf("%s: %v\n%x", what, err, b)
		}
		if !strings.Contains(got, goldenMeans[what]) {
			t.Errorf("%s: %s\ndoes not say %s", what, got, goldenMeans[what])
		}
		seen[what] = true
	}
	for what := range goldenChecks {
		if !seen[what] {
			t.Errorf("%s is not in the file", what)
		}
	}
}
