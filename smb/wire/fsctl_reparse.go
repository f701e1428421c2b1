package wire

// Reparse tags (MS-FSCC 2.1.2.1).
const (
	ReparseTagMountPoint uint32 = 0xa0000003
	ReparseTagSymlink    uint32 = 0xa000000c
	ReparseTagNFS        uint32 = 0x80000014
	ReparseTagLXSymlink  uint32 = 0xa000001d
	ReparseTagAFUnix     uint32 = 0x80000023
	ReparseTagLXFIFO     uint32 = 0x80000024
	ReparseTagLXChar     uint32 = 0x80000025
	ReparseTagLXBlock    uint32 = 0x80000026
)

// ReparseMicrosoft is the bit of tags whose data has no GUID before it (MS-FSCC 2.1.2.1).
const ReparseMicrosoft uint32 = 0x80000000

// MaxReparseData is the largest length of a reparse point's data, bytes (MS-FSCC 2.1.2.2).
const MaxReparseData = 16 << 10

// Reparse is the buffer of FSCTL_GET_REPARSE_POINT and FSCTL_SET_REPARSE_POINT: a REPARSE_DATA_BUFFER (MS-FSCC 2.1.2.2)
// or, if the tag is not Microsoft's, a REPARSE_GUID_DATA_BUFFER (2.1.2.3).
type Reparse struct {
	Tag  uint32
	GUID GUID
	Data []byte
}

// ParseReparse reads the buffer.
func ParseReparse(b []byte) (r Reparse, err error) {
	if err = atLeast(b, 8); err != nil {
		return r, err
	}
	r.Tag = le.Uint32(b)
	n := uint64(le.Uint16(b[4:]))
	b = b[8:]
	if r.Tag&ReparseMicrosoft == 0 {
		if err = atLeast(b, 16); err != nil {
			return r, err
		}
		r.GUID, b = getGUID(b), b[16:]
	}
	if n > MaxReparseData {
		return r, malformed("reparse data of %d bytes", n)
	}
	r.Data, err = within(b, 0, n)
	return r, err
}

// Append appends the buffer.
func (r *Reparse) Append(b []byte) []byte {
	b = le.AppendUint32(b, r.Tag)
	b = le.AppendUint16(b, uint16(len(r.Data)))
	b = le.AppendUint16(b, 0)
	if r.Tag&ReparseMicrosoft == 0 {
		b = append(b, r.GUID[:]...)
	}
	return append(b, r.Data...)
}

// SymlinkReparse is the data of a Reparse with ReparseTagSymlink (MS-FSCC 2.1.2.4).
type SymlinkReparse struct {
	Substitute string // target, with backslashes
	Print      string // target to show to users
	Flags      uint32 // SymlinkRelative
}

// ParseSymlinkReparse reads the data.
func ParseSymlinkReparse(d []byte) (s SymlinkReparse, err error) {
	substitute, shown, flags, err := parseSymlink(d)
	if err != nil {
		return s, err
	}
	s.Flags = flags
	if s.Substitute, err = UTF16(substitute); err != nil {
		return s, err
	}
	s.Print, err = UTF16(shown)
	return s, err
}

// Append appends the data.
func (s *SymlinkReparse) Append(b []byte) []byte {
	return appendSymlink(b, AppendUTF16(nil, s.Substitute), AppendUTF16(nil, s.Print), s.Flags)
}

// Types of an NFSReparse (MS-FSCC 2.1.2.6).
const (
	NFSSpecFileLink   uint64 = 0x00000000014b4e4c
	NFSSpecFileChar   uint64 = 0x0000000000524843
	NFSSpecFileBlock  uint64 = 0x00000000004b4c42
	NFSSpecFileFIFO   uint64 = 0x000000004f464946
	NFSSpecFileSocket uint64 = 0x000000004b434f53
)

// NFSReparse is the data of a Reparse with ReparseTagNFS (MS-FSCC 2.1.2.6).
type NFSReparse struct {
	Type   uint64
	Target string // of a link
	Major  uint32 // of a device
	Minor  uint32
}

// ParseNFSReparse reads the data.
func ParseNFSReparse(d []byte) (n NFSReparse, err error) {
	if err = atLeast(d, 8); err != nil {
		return n, err
	}
	n.Type, d = le.Uint64(d), d[8:]
	switch n.Type {
	case NFSSpecFileLink:
		n.Target, err = UTF16(d)
	case NFSSpecFileChar, NFSSpecFileBlock:
		if err = atLeast(d, 8); err == nil {
			n.Major, n.Minor = le.Uint32(d), le.Uint32(d[4:])
		}
	case NFSSpecFileFIFO, NFSSpecFileSocket:
	default:
		err = malformed("NFS reparse data of type %#x", n.Type)
	}
	return n, err
}

// Append appends the data.
func (n *NFSReparse) Append(b []byte) []byte {
	b = le.AppendUint64(b, n.Type)
	switch n.Type {
	case NFSSpecFileLink:
		b = AppendUTF16(b, n.Target)
	case NFSSpecFileChar, NFSSpecFileBlock:
		b = le.AppendUint32(le.AppendUint32(b, n.Major), n.Minor)
	}
	return b
}

// LXSymlinkVersion begins the data of a Reparse with ReparseTagLXSymlink; the target in UTF-8 follows (MS-FSCC 2.1.2.7).
const LXSymlinkVersion uint32 = 2
