package wire

// ErrorResponse is an SMB2 ERROR Response (MS-SMB2 2.2.2).
type ErrorResponse struct {
	// ContextCount is the number of error contexts in Data, in 3.1.1.
	ContextCount uint8
	Data         []byte
}

// Append appends the body of the response. Without data it appends one byte, which ByteCount does not include.
func (r *ErrorResponse) Append(b []byte, _ int) []byte {
	b = le.AppendUint16(b, 9)
	b = append(b, r.ContextCount, 0)
	b = le.AppendUint32(b, uint32(len(r.Data)))
	if len(r.Data) == 0 {
		return append(b, 0)
	}
	return append(b, r.Data...)
}

// ParseErrorResponse reads the response msg.
func ParseErrorResponse(msg []byte) (r ErrorResponse, err error) {
	b, err := body(msg, 9, 8)
	if err != nil {
		return r, err
	}
	r.ContextCount = b[2]
	r.Data, err = span(msg, HeaderLen+8, uint64(le.Uint32(b[4:])))
	return r, err
}

// Identifiers of error contexts (MS-SMB2 2.2.2.1).
const (
	ErrorIDDefault       uint32 = 0x00000000
	ErrorIDShareRedirect uint32 = 0x72645253
)

// ErrorContext is an SMB2 ERROR Context Response of 3.1.1 (MS-SMB2 2.2.2.1).
type ErrorContext struct {
	ID   uint32
	Data []byte
}

// Append appends the context, aligned in Data.
func (c *ErrorContext) Append(b []byte) []byte {
	b = le.AppendUint32(pad(b, 0, 8), uint32(len(c.Data)))
	return append(le.AppendUint32(b, c.ID), c.Data...)
}

// ParseErrorContext reads the first context of an ErrorResponse's Data and returns the bytes after it as rest.
func ParseErrorContext(d []byte) (c ErrorContext, rest []byte, err error) {
	if len(d) < 8 || uint64(le.Uint32(d)) > uint64(len(d)-8) {
		return c, nil, malformed("error context in %d bytes", len(d))
	}
	end := 8 + uint64(le.Uint32(d))
	c = ErrorContext{ID: le.Uint32(d[4:]), Data: d[8:end:end]}
	return c, d[min(align(end, 8), uint64(len(d))):], nil
}

// AppendBufferTooSmall appends the error data of STATUS_BUFFER_TOO_SMALL: the number of bytes needed (MS-SMB2 2.2.2.2).
func AppendBufferTooSmall(b []byte, need uint32) []byte { return le.AppendUint32(b, need) }

// SymlinkRelative is the flag of a link whose target is relative (MS-SMB2 2.2.2.2.1).
const SymlinkRelative uint32 = 0x00000001

// SymlinkError is a Symbolic Link Error Response: the data of STATUS_STOPPED_ON_SYMLINK (MS-SMB2 2.2.2.2.1).
type SymlinkError struct {
	Unparsed   uint16 // bytes of the name behind the link
	Substitute []byte // target, UTF-16LE
	Print      []byte // target to show to users, UTF-16LE
	Flags      uint32
}

const symlinkErrorTag = 0x4c4d5953 // "SYML"

// Append appends the error data.
func (s *SymlinkError) Append(b []byte) []byte {
	names := len(s.Substitute) + len(s.Print)
	b = le.AppendUint32(b, uint32(24+names))
	b = le.AppendUint32(b, symlinkErrorTag)
	b = le.AppendUint32(b, ReparseTagSymlink)
	b = le.AppendUint16(b, uint16(12+names))
	b = le.AppendUint16(b, s.Unparsed)
	return appendSymlink(b, s.Substitute, s.Print, s.Flags)
}

// ParseSymlinkError reads the error data.
func ParseSymlinkError(d []byte) (s SymlinkError, err error) {
	if len(d) < 28 || le.Uint32(d[4:]) != symlinkErrorTag || le.Uint32(d[8:]) != ReparseTagSymlink {
		return s, malformed("symlink error of %d bytes", len(d))
	}
	s.Unparsed = le.Uint16(d[14:])
	s.Substitute, s.Print, s.Flags, err = parseSymlink(d[16:])
	return s, err
}
