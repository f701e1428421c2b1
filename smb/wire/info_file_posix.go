package wire

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
