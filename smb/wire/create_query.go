package wire

// ParseMaximalAccess reads the data of MxAc in a request: the time of change that the client knows, or 0. The server
// answers with the access unless that time is the file's time of change (MS-SMB2 2.2.13.2.5).
func ParseMaximalAccess(d []byte) (Filetime, error) {
	switch len(d) {
	case 0:
		return 0, nil
	case 8:
		return getFiletime(d), nil
	}
	return 0, malformed("MxAc of %d bytes", len(d))
}

// MaximalAccess is the MxAc of a response (MS-SMB2 2.2.14.2.5).
type MaximalAccess struct {
	Status Status
	Access AccessMask
}

// Append appends the data.
func (m *MaximalAccess) Append(b []byte) []byte {
	return le.AppendUint32(le.AppendUint32(b, uint32(m.Status)), uint32(m.Access))
}

// ParseMaximalAccessResponse reads the data.
func ParseMaximalAccessResponse(d []byte) (m MaximalAccess, err error) {
	if len(d) != 8 {
		return m, malformed("MxAc of %d bytes", len(d))
	}
	return MaximalAccess{Status(le.Uint32(d)), AccessMask(le.Uint32(d[4:]))}, nil
}

// OnDiskID is the QFid of a response (MS-SMB2 2.2.14.2.9).
type OnDiskID struct{ DiskFileID, VolumeID uint64 }

// Append appends the data.
func (q *OnDiskID) Append(b []byte) []byte {
	return zeros(le.AppendUint64(le.AppendUint64(b, q.DiskFileID), q.VolumeID), 16)
}

// ParseOnDiskID reads the data.
func ParseOnDiskID(d []byte) (q OnDiskID, err error) {
	if len(d) != 32 {
		return q, malformed("QFid of %d bytes", len(d))
	}
	return OnDiskID{le.Uint64(d), le.Uint64(d[8:])}, nil
}

// ParseAllocationSize reads the data of AlSi: bytes to allocate (MS-SMB2 2.2.13.2.6).
func ParseAllocationSize(d []byte) (uint64, error) {
	if len(d) != 8 {
		return 0, malformed("AlSi of %d bytes", len(d))
	}
	return le.Uint64(d), nil
}

// AppendAllocationSize appends the data of AlSi.
func AppendAllocationSize(b []byte, n uint64) []byte { return le.AppendUint64(b, n) }

// ParseTimewarp reads the data of TWrp: the time of the snapshot to open (MS-SMB2 2.2.13.2.7).
func ParseTimewarp(d []byte) (Filetime, error) {
	if len(d) != 8 {
		return 0, malformed("TWrp of %d bytes", len(d))
	}
	return getFiletime(d), nil
}

// ParsePosixCreate reads the data of CreatePosix in a request: the mode of a file or directory that is created
// (SMB 3.1.1 POSIX Extensions 2.2.13.2.16).
func ParsePosixCreate(d []byte) (mode uint32, err error) {
	if len(d) != 4 {
		return 0, malformed("posix create context of %d bytes", len(d))
	}
	return le.Uint32(d), nil
}

// AppendPosixCreate appends the data of CreatePosix in a request.
func AppendPosixCreate(b []byte, mode uint32) []byte { return le.AppendUint32(b, mode) }

// PosixCreated is the CreatePosix of a response (SMB 3.1.1 POSIX Extensions 2.2.14.2.16).
type PosixCreated struct {
	Links      uint32
	ReparseTag uint32
	Mode       uint32
	Owner      []byte // SID
	Group      []byte // SID
}

// Append appends the data.
func (p *PosixCreated) Append(b []byte) []byte {
	b = le.AppendUint32(b, p.Links)
	b = le.AppendUint32(b, p.ReparseTag)
	b = le.AppendUint32(b, p.Mode)
	return append(append(b, p.Owner...), p.Group...)
}

// ParsePosixCreated reads the data.
func ParsePosixCreated(d []byte) (p PosixCreated, err error) {
	if len(d) < 12 {
		return p, malformed("posix create context of %d bytes", len(d))
	}
	p.Links = le.Uint32(d)
	p.ReparseTag = le.Uint32(d[4:])
	p.Mode = le.Uint32(d[8:])
	p.Owner, p.Group, err = twoSIDs(d[12:])
	return p, err
}

// twoSIDs returns the two SIDs at the beginning of b; more bytes may follow them (MS-DTYP 2.4.2.2).
func twoSIDs(b []byte) (first, second []byte, err error) {
	for _, s := range []*[]byte{&first, &second} {
		if len(b) < 8 || b[0] != 1 || b[1] > 15 || len(b) < 8+4*int(b[1]) {
			return nil, nil, malformed("SID in %d bytes", len(b))
		}
		n := 8 + 4*int(b[1])
		*s, b = b[:n:n], b[n:]
	}
	return first, second, nil
}
