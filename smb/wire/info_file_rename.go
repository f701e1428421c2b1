package wire

// RenameInfo is FileRenameInformation, FileRenameInformationEx, FileLinkInformation or
// FileLinkInformationEx (MS-FSCC 2.4.42.2, 2.4.43, 2.4.28.2).
type RenameInfo struct {
	Flags         uint32 // classes without Ex have only RenameReplaceIfExists
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

// renameEx reports whether the flags of the class have 32 bits; otherwise they are one byte.
func renameEx(c InfoClass) bool {
	return c == FileRenameInformationEx || c == FileLinkInformationEx
}

// ParseRenameInfo reads b as class c.
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

// Append appends r as class c.
func (i *RenameInfo) Append(c InfoClass, b []byte) []byte {
	flags := i.Flags
	if !renameEx(c) {
		flags &= RenameReplaceIfExists
	}
	b = le.AppendUint32(le.AppendUint32(b, flags), 0)
	return AppendNameInfo(le.AppendUint64(b, i.RootDirectory), i.Name)
}
