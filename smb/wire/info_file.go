package wire

// Times are the four times of a file.
type Times struct {
	Creation, LastAccess, LastWrite, Change Filetime
}

const timesLen = 32

func getTimes(b []byte) Times {
	return Times{getFiletime(b), getFiletime(b[8:]), getFiletime(b[16:]), getFiletime(b[24:])}
}

func (t *Times) append(b []byte) []byte {
	return t.Change.append(t.LastWrite.append(t.LastAccess.append(t.Creation.append(b))))
}

// BasicInfo is FileBasicInformation (MS-FSCC 2.4.7). In a SET_INFO, times may have the special values of [Filetime],
// and attributes of 0 mean no change.
type BasicInfo struct {
	Times
	FileAttributes FileAttributes
}

const basicLen = 40

// ParseBasicInfo reads the class.
func ParseBasicInfo(b []byte) (i BasicInfo, err error) {
	// The last four bytes are reserved; some clients leave them out.
	if err = atLeast(b, basicLen-4); err != nil {
		return i, err
	}
	return BasicInfo{getTimes(b), FileAttributes(le.Uint32(b[timesLen:]))}, nil
}

// Append appends the class.
func (i *BasicInfo) Append(b []byte) []byte {
	b = le.AppendUint32(i.Times.append(b), uint32(i.FileAttributes))
	return le.AppendUint32(b, 0)
}

// StandardInfo is FileStandardInformation (MS-FSCC 2.4.47).
type StandardInfo struct {
	AllocationSize uint64 // bytes
	EndOfFile      uint64 // bytes
	Links          uint32
	DeletePending  bool
	Directory      bool
}

const standardLen = 24

// ParseStandardInfo reads the class.
func ParseStandardInfo(b []byte) (i StandardInfo, err error) {
	if err = atLeast(b, standardLen); err != nil {
		return i, err
	}
	return StandardInfo{le.Uint64(b), le.Uint64(b[8:]), le.Uint32(b[16:]), b[20] != 0, b[21] != 0}, nil
}

// Append appends the class.
func (i *StandardInfo) Append(b []byte) []byte {
	b = le.AppendUint64(b, i.AllocationSize)
	b = le.AppendUint64(b, i.EndOfFile)
	b = le.AppendUint32(b, i.Links)
	return append(b, flag(i.DeletePending), flag(i.Directory), 0, 0)
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// AllInfo is FileAllInformation (MS-FSCC 2.4.2).
type AllInfo struct {
	Basic       BasicInfo
	Standard    StandardInfo
	IndexNumber uint64
	EASize      uint32 // bytes
	Access      AccessMask
	Position    uint64 // bytes
	Mode        CreateOptions
	Alignment   uint32
	Name        string
}

const allFixedLen = basicLen + standardLen + 8 + 4 + 4 + 8 + 4 + 4

// ParseAllInfo reads the class.
func ParseAllInfo(b []byte) (i AllInfo, err error) {
	if err = atLeast(b, allFixedLen); err != nil {
		return i, err
	}
	i.Basic, _ = ParseBasicInfo(b)
	i.Standard, _ = ParseStandardInfo(b[basicLen:])
	r := b[basicLen+standardLen:]
	i.IndexNumber = le.Uint64(r)
	i.EASize = le.Uint32(r[8:])
	i.Access = AccessMask(le.Uint32(r[12:]))
	i.Position = le.Uint64(r[16:])
	i.Mode = CreateOptions(le.Uint32(r[24:]))
	i.Alignment = le.Uint32(r[28:])
	i.Name, err = ParseNameInfo(r[32:])
	return i, err
}

// Append appends the class.
func (i *AllInfo) Append(b []byte) []byte {
	b = i.Standard.Append(i.Basic.Append(b))
	b = le.AppendUint64(b, i.IndexNumber)
	b = le.AppendUint32(b, i.EASize)
	b = le.AppendUint32(b, uint32(i.Access))
	b = le.AppendUint64(b, i.Position)
	b = le.AppendUint32(b, uint32(i.Mode))
	b = le.AppendUint32(b, i.Alignment)
	return AppendNameInfo(b, i.Name)
}

// ParseNameInfo reads a name with its length before it: FileNameInformation,
// FileAlternateNameInformation, FileNormalizedNameInformation, FileShortNameInformation, FileFsLabelInformation
// (MS-FSCC 2.1.7, 2.4.5, 2.4.36, 2.4.46, 2.5.5).
func ParseNameInfo(b []byte) (string, error) {
	if err := atLeast(b, 4); err != nil {
		return "", err
	}
	n, err := within(b[4:], 0, uint64(le.Uint32(b)))
	if err != nil {
		return "", err
	}
	return UTF16(n)
}

// AppendNameInfo appends a class that ParseNameInfo reads.
func AppendNameInfo(b []byte, name string) []byte {
	at := len(b)
	b = AppendUTF16(le.AppendUint32(b, 0), name)
	put32(b, at, len(b)-at-4)
	return b
}

// NetworkOpenInfo is FileNetworkOpenInformation (MS-FSCC 2.4.33).
type NetworkOpenInfo struct {
	Times
	AllocationSize uint64 // bytes
	EndOfFile      uint64 // bytes
	FileAttributes FileAttributes
}

const networkOpenLen = 56

// ParseNetworkOpenInfo reads the class.
func ParseNetworkOpenInfo(b []byte) (i NetworkOpenInfo, err error) {
	if err = atLeast(b, networkOpenLen); err != nil {
		return i, err
	}
	return NetworkOpenInfo{getTimes(b), le.Uint64(b[32:]), le.Uint64(b[40:]), FileAttributes(le.Uint32(b[48:]))}, nil
}

// Append appends the class.
func (i *NetworkOpenInfo) Append(b []byte) []byte {
	b = le.AppendUint64(i.Times.append(b), i.AllocationSize)
	b = le.AppendUint64(b, i.EndOfFile)
	return le.AppendUint32(le.AppendUint32(b, uint32(i.FileAttributes)), 0)
}

// AttributeTagInfo is FileAttributeTagInformation (MS-FSCC 2.4.6).
type AttributeTagInfo struct {
	FileAttributes FileAttributes
	ReparseTag     uint32
}

// ParseAttributeTagInfo reads the class.
func ParseAttributeTagInfo(b []byte) (i AttributeTagInfo, err error) {
	if err = atLeast(b, 8); err != nil {
		return i, err
	}
	return AttributeTagInfo{FileAttributes(le.Uint32(b)), le.Uint32(b[4:])}, nil
}

// Append appends the class.
func (i *AttributeTagInfo) Append(b []byte) []byte {
	return le.AppendUint32(le.AppendUint32(b, uint32(i.FileAttributes)), i.ReparseTag)
}

// CompressionInfo is FileCompressionInformation (MS-FSCC 2.4.9).
type CompressionInfo struct {
	CompressedSize uint64 // bytes
	Format         uint16
}

const compressionLen = 16

// ParseCompressionInfo reads the class.
func ParseCompressionInfo(b []byte) (i CompressionInfo, err error) {
	if err = atLeast(b, compressionLen); err != nil {
		return i, err
	}
	return CompressionInfo{le.Uint64(b), le.Uint16(b[8:])}, nil
}

// Append appends the class.
func (i *CompressionInfo) Append(b []byte) []byte {
	return zeros(le.AppendUint16(le.AppendUint64(b, i.CompressedSize), i.Format), 6)
}

// FileIDInfo is FileIdInformation (MS-FSCC 2.4.26).
type FileIDInfo struct {
	VolumeSerial uint64
	FileID       [16]byte
}

const fileIDLen = 24

// ParseFileIDInfo reads the class.
func ParseFileIDInfo(b []byte) (i FileIDInfo, err error) {
	if err = atLeast(b, fileIDLen); err != nil {
		return i, err
	}
	return FileIDInfo{le.Uint64(b), [16]byte(b[8:24])}, nil
}

// Append appends the class.
func (i *FileIDInfo) Append(b []byte) []byte {
	return append(le.AppendUint64(b, i.VolumeSerial), i.FileID[:]...)
}

// StandardLinkInfo is FileStandardLinkInformation (MS-FSCC 2.4.48).
type StandardLinkInfo struct {
	AccessibleLinks uint32
	TotalLinks      uint32
	DeletePending   bool
	Directory       bool
}

const standardLinkLen = 12

// ParseStandardLinkInfo reads the class.
func ParseStandardLinkInfo(b []byte) (i StandardLinkInfo, err error) {
	if err = atLeast(b, standardLinkLen); err != nil {
		return i, err
	}
	return StandardLinkInfo{le.Uint32(b), le.Uint32(b[4:]), b[8] != 0, b[9] != 0}, nil
}

// Append appends the class.
func (i *StandardLinkInfo) Append(b []byte) []byte {
	b = le.AppendUint32(le.AppendUint32(b, i.AccessibleLinks), i.TotalLinks)
	return append(b, flag(i.DeletePending), flag(i.Directory), 0, 0)
}
