package wire

// Oplock levels (MS-SMB2 2.2.13).
const (
	OplockLevelNone      = 0x00
	OplockLevelII        = 0x01
	OplockLevelExclusive = 0x08
	OplockLevelBatch     = 0x09
	OplockLevelLease     = 0xff
)

// Impersonation levels (MS-SMB2 2.2.13).
const (
	ImpersonationAnonymous      uint32 = 0
	ImpersonationIdentification uint32 = 1
	ImpersonationImpersonation  uint32 = 2
	ImpersonationDelegate       uint32 = 3
)

// CreateFlagReparsePoint is the flag of a CREATE response: the last component of the name is a reparse point (MS-SMB2 2.2.14).
const CreateFlagReparsePoint = 0x01

// CreateRequest is an SMB2 CREATE Request (MS-SMB2 2.2.13).
type CreateRequest struct {
	OplockLevel        uint8
	ImpersonationLevel uint32
	DesiredAccess      AccessMask
	FileAttributes     FileAttributes
	ShareAccess        ShareAccess
	Disposition        CreateDisposition
	Options            CreateOptions
	Name               []byte // UTF-16LE, relative to the share
	Contexts           CreateContexts
}

// ParseCreateRequest reads the request msg.
func ParseCreateRequest(msg []byte) (r CreateRequest, err error) {
	b, err := body(msg, 57, 56)
	if err != nil {
		return r, err
	}
	r.OplockLevel = b[3]
	r.ImpersonationLevel = le.Uint32(b[4:])
	r.DesiredAccess = AccessMask(le.Uint32(b[24:]))
	r.FileAttributes = FileAttributes(le.Uint32(b[28:]))
	r.ShareAccess = ShareAccess(le.Uint32(b[32:]))
	r.Disposition = CreateDisposition(le.Uint32(b[36:]))
	r.Options = CreateOptions(le.Uint32(b[40:]))
	if r.Name, err = span(msg, uint64(le.Uint16(b[44:])), uint64(le.Uint16(b[46:]))); err != nil {
		return r, err
	}
	if len(r.Name)%2 != 0 {
		return r, malformed("name of %d bytes", len(r.Name))
	}
	r.Contexts, err = parseCreateContexts(msg, le.Uint32(b[48:]), le.Uint32(b[52:]))
	return r, err
}

// Append appends the body of the request, whose header is at b[at:].
func (r *CreateRequest) Append(b []byte, at int) []byte {
	b = le.AppendUint16(b, 57)
	b = append(b, 0, r.OplockLevel)
	b = le.AppendUint32(b, r.ImpersonationLevel)
	b = zeros(b, 16)
	b = le.AppendUint32(b, uint32(r.DesiredAccess))
	b = le.AppendUint32(b, uint32(r.FileAttributes))
	b = le.AppendUint32(b, uint32(r.ShareAccess))
	b = le.AppendUint32(b, uint32(r.Disposition))
	b = le.AppendUint32(b, uint32(r.Options))
	b = le.AppendUint16(b, uint16(len(b)+12-at))
	b = le.AppendUint16(b, uint16(len(r.Name)))
	where := len(b)
	b = zeros(b, 8)
	b = append(b, r.Name...)
	if len(r.Contexts) > 0 {
		b = pad(b, at, 8)
		put32(b, where, len(b)-at)
		put32(b, where+4, len(r.Contexts))
		return append(b, r.Contexts...)
	}
	if len(r.Name) == 0 {
		b = append(b, 0) // the buffer has at least one byte
	}
	return b
}

// CreateResponse is an SMB2 CREATE Response (MS-SMB2 2.2.14).
type CreateResponse struct {
	OplockLevel    uint8
	Flags          uint8
	Action         CreateAction
	CreationTime   Filetime
	LastAccessTime Filetime
	LastWriteTime  Filetime
	ChangeTime     Filetime
	AllocationSize uint64 // bytes
	EndOfFile      uint64 // bytes
	FileAttributes FileAttributes
	FileID         FileID
	Contexts       CreateContexts
}

// Append appends the body of the response, whose header is at b[at:].
func (r *CreateResponse) Append(b []byte, at int) []byte {
	b = le.AppendUint16(b, 89)
	b = append(b, r.OplockLevel, r.Flags)
	b = le.AppendUint32(b, uint32(r.Action))
	b = r.CreationTime.append(b)
	b = r.LastAccessTime.append(b)
	b = r.LastWriteTime.append(b)
	b = r.ChangeTime.append(b)
	b = le.AppendUint64(b, r.AllocationSize)
	b = le.AppendUint64(b, r.EndOfFile)
	b = le.AppendUint32(b, uint32(r.FileAttributes))
	b = le.AppendUint32(b, 0)
	b = r.FileID.append(b)
	off := 0
	if len(r.Contexts) > 0 {
		off = len(b) + 8 - at // 64 + 88: a multiple of 8
	}
	b = le.AppendUint32(b, uint32(off))
	b = le.AppendUint32(b, uint32(len(r.Contexts)))
	return append(b, r.Contexts...)
}

// ParseCreateResponse reads the response msg.
func ParseCreateResponse(msg []byte) (r CreateResponse, err error) {
	b, err := body(msg, 89, 88)
	if err != nil {
		return r, err
	}
	r.OplockLevel = b[2]
	r.Flags = b[3]
	r.Action = CreateAction(le.Uint32(b[4:]))
	r.CreationTime = getFiletime(b[8:])
	r.LastAccessTime = getFiletime(b[16:])
	r.LastWriteTime = getFiletime(b[24:])
	r.ChangeTime = getFiletime(b[32:])
	r.AllocationSize = le.Uint64(b[40:])
	r.EndOfFile = le.Uint64(b[48:])
	r.FileAttributes = FileAttributes(le.Uint32(b[56:]))
	r.FileID = getFileID(b[64:])
	r.Contexts, err = parseCreateContexts(msg, le.Uint32(b[80:]), le.Uint32(b[84:]))
	return r, err
}
