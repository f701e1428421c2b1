package wire

// DirEntry is an entry of a directory in any of its classes (MS-FSCC 2.4.8, 2.4.10, 2.4.17 to
// 2.4.24, 2.4.33; SMB 3.1.1 POSIX Extensions 2.2.33.1). Each class uses the fields that it has.
type DirEntry struct {
	FileIndex      uint32
	Times          Times
	EndOfFile      uint64 // bytes
	AllocationSize uint64 // bytes
	FileAttributes FileAttributes
	EASize         uint32 // bytes; for a reparse point its tag, in all classes but IdExtd
	ReparseTag     uint32 // IdExtd, posix
	ShortName      string // Both, IdBoth: 12 characters at most
	FileID         uint64 // IdBoth, IdFull, IdExtd, posix
	Device         uint32 // posix
	Links          uint32 // posix
	Mode           uint32 // posix
	Owner, Group   []byte // posix: SIDs
	Name           string
}

// dirNameAt is the offset of the name in an entry of the class, bytes; 0 for posix, where it varies.
func dirNameAt(c InfoClass) (at int, ok bool) {
	switch c {
	case FileDirectoryInformation:
		return 64, true
	case FileFullDirectoryInformation:
		return 68, true
	case FileIDFullDirectoryInformation:
		return 80, true
	case FileBothDirectoryInformation:
		return 94, true
	case FileIDBothDirectoryInformation:
		return 104, true
	case FileIDExtdDirectoryInformation:
		return 88, true
	case FileNamesInformation:
		return 12, true
	case FilePosixInformation:
		return 0, true
	}
	return 0, false
}

// IsDirClass reports whether c is a class of QUERY_DIRECTORY.
func IsDirClass(c InfoClass) bool {
	_, ok := dirNameAt(c)
	return ok
}

const (
	dirAlign     = 8
	shortNameLen = 24
)

// AddDirEntry adds e in class c, for which IsDirClass is true. It reports whether there was room.
func (l *List) AddDirEntry(c InfoClass, e *DirEntry) bool {
	b := l.begin(dirAlign)
	start := len(b)
	return l.end(e.append(b, c), start)
}

func (e *DirEntry) append(b []byte, c InfoClass) []byte {
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, e.FileIndex)
	if c == FileNamesInformation {
		return AppendNameInfo(b, e.Name)
	}
	if c == FilePosixInformation {
		p := PosixInfo{e.Times, e.EndOfFile, e.AllocationSize, e.FileAttributes, e.FileID, e.Device, e.Links, e.ReparseTag, e.Mode, e.Owner, e.Group}
		return AppendNameInfo(p.appendFixed(b), e.Name)
	}
	b = e.Times.append(b)
	b = le.AppendUint64(b, e.EndOfFile)
	b = le.AppendUint64(b, e.AllocationSize)
	b = le.AppendUint32(b, uint32(e.FileAttributes))
	b = le.AppendUint32(b, uint32(UTF16Len(e.Name)))
	if c != FileDirectoryInformation {
		b = le.AppendUint32(b, e.EASize)
	}
	switch c {
	case FileIDFullDirectoryInformation:
		b = le.AppendUint64(le.AppendUint32(b, 0), e.FileID)
	case FileBothDirectoryInformation:
		b = e.appendShortName(b)
	case FileIDBothDirectoryInformation:
		b = append(e.appendShortName(b), 0, 0)
		b = le.AppendUint64(b, e.FileID)
	case FileIDExtdDirectoryInformation:
		b = le.AppendUint32(b, e.ReparseTag)
		b = le.AppendUint64(le.AppendUint64(b, e.FileID), 0)
	}
	return AppendUTF16(b, e.Name)
}

func (e *DirEntry) appendShortName(b []byte) []byte {
	at := len(b)
	b = AppendUTF16(append(b, 0, 0), e.ShortName)
	n := min(len(b)-at-2, shortNameLen)
	b[at] = byte(n)
	return zeros(b[:at+2+n], shortNameLen-n)
}

// ParseDirEntries reads b, the output of a QUERY_DIRECTORY with class c.
func ParseDirEntries(c InfoClass, b []byte) (list []DirEntry, err error) {
	at, ok := dirNameAt(c)
	if !ok {
		return nil, malformed("class %d is not of directories", c)
	}
	for b != nil && err == nil {
		var e []byte
		if e, b, err = entry(b, max(at, 12), dirAlign); err != nil {
			break
		}
		var d DirEntry
		if c == FilePosixInformation {
			err = d.parsePosix(e)
		} else {
			err = d.parse(c, at, e)
		}
		list = append(list, d)
	}
	return list, err
}

func (d *DirEntry) parse(c InfoClass, at int, e []byte) (err error) {
	d.FileIndex = le.Uint32(e[4:])
	if c == FileNamesInformation {
		d.Name, err = ParseNameInfo(e[8:])
		return err
	}
	d.Times = getTimes(e[8:])
	d.EndOfFile = le.Uint64(e[40:])
	d.AllocationSize = le.Uint64(e[48:])
	d.FileAttributes = FileAttributes(le.Uint32(e[56:]))
	name, err := within(e[at:], 0, uint64(le.Uint32(e[60:])))
	if err != nil {
		return err
	}
	if c != FileDirectoryInformation {
		d.EASize = le.Uint32(e[64:])
	}
	switch c {
	case FileIDFullDirectoryInformation:
		d.FileID = le.Uint64(e[72:])
	case FileIDExtdDirectoryInformation:
		d.ReparseTag = le.Uint32(e[68:])
		d.FileID = le.Uint64(e[72:])
	case FileIDBothDirectoryInformation:
		d.FileID = le.Uint64(e[96:])
		fallthrough
	case FileBothDirectoryInformation:
		if e[68] > shortNameLen {
			return malformed("short name of %d bytes", e[68])
		}
		if d.ShortName, err = UTF16(e[70 : 70+e[68]]); err != nil {
			return err
		}
	}
	d.Name, err = UTF16(name)
	return err
}

func (d *DirEntry) parsePosix(e []byte) error {
	var p PosixInfo
	if err := p.parseFixed(e[8:]); err != nil {
		return err
	}
	*d = DirEntry{FileIndex: le.Uint32(e[4:]), Times: p.Times, EndOfFile: p.EndOfFile, AllocationSize: p.AllocationSize, FileAttributes: p.FileAttributes,
		FileID: p.Inode, Device: p.Device, Links: p.Links, ReparseTag: p.ReparseTag, Mode: p.Mode, Owner: p.Owner, Group: p.Group}
	name, err := ParseNameInfo(e[8+posixFixedLen+len(p.Owner)+len(p.Group):])
	d.Name = name
	return err
}
