package wire

// ResumeKey identifies an open as the source of server-side copies (MS-SMB2 2.2.32.3).
type ResumeKey [24]byte

// AppendResumeKey appends the output of FSCTL_SRV_REQUEST_RESUME_KEY. Its context is empty but takes four bytes.
func AppendResumeKey(b []byte, k ResumeKey) []byte { return zeros(append(b, k[:]...), 8) }

// ParseResumeKey reads the output of FSCTL_SRV_REQUEST_RESUME_KEY.
func ParseResumeKey(b []byte) (k ResumeKey, err error) {
	if err = atLeast(b, 28); err != nil {
		return k, err
	}
	return ResumeKey(b[:24]), nil
}

// Copychunk is one range of a Copychunks (MS-SMB2 2.2.31.1.1).
type Copychunk struct {
	SourceOffset, TargetOffset uint64 // bytes
	Length                     uint32 // bytes
}

const (
	copychunkFixedLen = 32
	copychunkLen      = 24
)

// Copychunks is SRV_COPYCHUNK_COPY: the ranges that FSCTL_SRV_COPYCHUNK and FSCTL_SRV_COPYCHUNK_WRITE copy (MS-SMB2
// 2.2.31.1).
type Copychunks struct {
	Source ResumeKey
	chunks []byte
}

// ParseCopychunks reads the input.
func ParseCopychunks(b []byte) (c Copychunks, err error) {
	if err = atLeast(b, copychunkFixedLen); err != nil {
		return c, err
	}
	c.Source = ResumeKey(b[:24])
	c.chunks, err = within(b[copychunkFixedLen:], 0, copychunkLen*uint64(le.Uint32(b[24:])))
	return c, err
}

// Len returns the number of chunks.
func (c *Copychunks) Len() int { return len(c.chunks) / copychunkLen }

// At returns chunk i.
func (c *Copychunks) At(i int) Copychunk {
	b := c.chunks[copychunkLen*i:]
	return Copychunk{le.Uint64(b), le.Uint64(b[8:]), le.Uint32(b[16:])}
}

// Add appends a chunk.
func (c *Copychunks) Add(k Copychunk) {
	b := le.AppendUint64(le.AppendUint64(c.chunks, k.SourceOffset), k.TargetOffset)
	c.chunks = le.AppendUint32(le.AppendUint32(b, k.Length), 0)
}

// Append appends the input.
func (c *Copychunks) Append(b []byte) []byte {
	b = le.AppendUint32(append(b, c.Source[:]...), uint32(c.Len()))
	return append(le.AppendUint32(b, 0), c.chunks...)
}

// CopychunkResponse is SRV_COPYCHUNK_RESPONSE: the amounts copied. If the request exceeded the server's limits
// (STATUS_INVALID_PARAMETER) it holds the limits (MS-SMB2 2.2.32.1).
type CopychunkResponse struct {
	Chunks     uint32 // written, or the limit
	ChunkBytes uint32 // written of a chunk that was not written whole, or the limit of one chunk
	TotalBytes uint32 // written, or the limit of all chunks together
}

// Append appends the output.
func (r *CopychunkResponse) Append(b []byte) []byte {
	return le.AppendUint32(le.AppendUint32(le.AppendUint32(b, r.Chunks), r.ChunkBytes), r.TotalBytes)
}

// ParseCopychunkResponse reads the output.
func ParseCopychunkResponse(b []byte) (r CopychunkResponse, err error) {
	if err = atLeast(b, 12); err != nil {
		return r, err
	}
	return CopychunkResponse{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])}, nil
}

// DuplicateExtents is SMB2_DUPLICATE_EXTENTS_DATA, or its _EX form, which has Flags (MS-FSCC 2.3.7.2, 2.3.9.2).
type DuplicateExtents struct {
	Source                     FileID
	SourceOffset, TargetOffset uint64 // bytes
	Count                      uint64 // bytes
	Flags                      uint32 // of _EX
}

// DuplicateExtentsSourceAtomic is the flag of a DuplicateExtents that must be done as a whole or not at all (MS-FSCC 2.3.9.2).
const DuplicateExtentsSourceAtomic uint32 = 0x00000001

const (
	duplicateLen   = 40
	duplicateExLen = 8 + duplicateLen + 8
)

// ParseDuplicateExtents reads the input of FSCTL_DUPLICATE_EXTENTS_TO_FILE.
func ParseDuplicateExtents(b []byte) (d DuplicateExtents, err error) {
	if err = atLeast(b, duplicateLen); err != nil {
		return d, err
	}
	return DuplicateExtents{Source: getFileID(b), SourceOffset: le.Uint64(b[16:]), TargetOffset: le.Uint64(b[24:]), Count: le.Uint64(b[32:])}, nil
}

// Append appends the input of FSCTL_DUPLICATE_EXTENTS_TO_FILE.
func (d *DuplicateExtents) Append(b []byte) []byte {
	b = le.AppendUint64(d.Source.append(b), d.SourceOffset)
	return le.AppendUint64(le.AppendUint64(b, d.TargetOffset), d.Count)
}

// ParseDuplicateExtentsEx reads the input of FSCTL_DUPLICATE_EXTENTS_TO_FILE_EX.
func ParseDuplicateExtentsEx(b []byte) (d DuplicateExtents, err error) {
	if err = atLeast(b, duplicateExLen-4); err != nil {
		return d, err
	}
	d, err = ParseDuplicateExtents(b[8:])
	d.Flags = le.Uint32(b[8+duplicateLen:])
	return d, err
}

// AppendEx appends the input of FSCTL_DUPLICATE_EXTENTS_TO_FILE_EX.
func (d *DuplicateExtents) AppendEx(b []byte) []byte {
	b = d.Append(le.AppendUint64(b, duplicateExLen))
	return le.AppendUint32(le.AppendUint32(b, d.Flags), 0)
}
