package wire

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

// RenameInfo is FileRenameInformation, FileRenameInformationEx, FileLinkInformation or
// FileLinkInformationEx (MS-FSCC 2.4.42.2, 2.4.43, 2.4.28.2).
type RenameInfo struct {
	Flags         uint32 // RenameReplaceIfExists alone, if the class is none of the Ex
	RootDirectory uint64 // 0
	Name          string // new name, relative to the share
}

// Flags of RenameInfo (MS-FSCC 2.4.43).
const (
	RenameReplaceIfExists         uint32 = 0x00000001
	RenamePosixSemantics          uint32 = 0x00000002
	RenameSuppressPinInheritance  uint32 = 0x00000004
	RenameIgnoreReadonlyAttribute uint32 = 0x00000040
)

// renameEx reports whether the class has flags of 32 bits, and not of a byte.
func renameEx(c InfoClass) bool {
	return c == FileRenameInformationEx || c == FileLinkInformationEx
}

// ParseRenameInfo reads the class c.
func ParseRenameInfo(c InfoClass, b []byte) (i RenameInfo, err error) {
	if err = atLeast(b, 20); err != nil {
		return i, err
	}
	if renameEx(c) {
		i.Flags = le.Uint32(b)
	} else if b[0] != 0 {
		i.Flags = RenameReplaceIfExists
	}
	i.RootDirectory = le.Uint64(b[8:])
	i.Name, err = ParseNameInfo(b[16:])
	return i, err
}

// Append appends the class c.
func (i *RenameInfo) Append(c InfoClass, b []byte) []byte {
	flags := i.Flags
	if !renameEx(c) {
		flags &= RenameReplaceIfExists
	}
	b = le.AppendUint32(le.AppendUint32(b, flags), 0)
	return AppendNameInfo(le.AppendUint64(b, i.RootDirectory), i.Name)
}

// PosixInfo is the information about a file of class FilePosixInformation (SMB 3.1.1 POSIX
// Extensions 2.2.39.1).
type PosixInfo struct {
	Times
	EndOfFile      uint64 // bytes
	AllocationSize uint64 // bytes
	FileAttributes FileAttributes
	Inode          uint64
	Device         uint32
	Links          uint32
	ReparseTag     uint32
	Mode           uint32
	Owner          []byte // SID
	Group          []byte // SID
}

const posixFixedLen = timesLen + 16 + 4 + 8 + 4 + 4 + 12

func (i *PosixInfo) appendFixed(b []byte) []byte {
	b = le.AppendUint64(i.Times.append(b), i.EndOfFile)
	b = le.AppendUint64(b, i.AllocationSize)
	b = le.AppendUint32(b, uint32(i.FileAttributes))
	b = le.AppendUint64(b, i.Inode)
	b = le.AppendUint32(b, i.Device)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, i.Links)
	b = le.AppendUint32(b, i.ReparseTag)
	b = le.AppendUint32(b, i.Mode)
	return append(append(b, i.Owner...), i.Group...)
}

func (i *PosixInfo) parseFixed(b []byte) (err error) {
	if err = atLeast(b, posixFixedLen); err != nil {
		return err
	}
	i.Times = getTimes(b)
	i.EndOfFile = le.Uint64(b[32:])
	i.AllocationSize = le.Uint64(b[40:])
	i.FileAttributes = FileAttributes(le.Uint32(b[48:]))
	i.Inode = le.Uint64(b[52:])
	i.Device = le.Uint32(b[60:])
	i.Links = le.Uint32(b[68:])
	i.ReparseTag = le.Uint32(b[72:])
	i.Mode = le.Uint32(b[76:])
	i.Owner, i.Group, err = twoSIDs(b[posixFixedLen:])
	return err
}

// ParsePosixInfo reads the class.
func ParsePosixInfo(b []byte) (i PosixInfo, err error) {
	err = i.parseFixed(b)
	return i, err
}

// Append appends the class.
func (i *PosixInfo) Append(b []byte) []byte { return i.appendFixed(b) }
