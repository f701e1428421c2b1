package wire

// PipeWait is the input of FSCTL_PIPE_WAIT (MS-FSCC 2.3.49).
type PipeWait struct {
	Timeout      uint64 // 100 ns
	TimeoutGiven bool
	Name         string // without \pipe\
}

// ParsePipeWait reads the input.
func ParsePipeWait(b []byte) (w PipeWait, err error) {
	if err = atLeast(b, 14); err != nil {
		return w, err
	}
	name, err := within(b[14:], 0, uint64(le.Uint32(b[8:])))
	if err != nil {
		return w, err
	}
	w = PipeWait{Timeout: le.Uint64(b), TimeoutGiven: b[12] != 0}
	w.Name, err = UTF16(name)
	return w, err
}

// Append appends the input.
func (w *PipeWait) Append(b []byte) []byte {
	b = le.AppendUint32(le.AppendUint64(b, w.Timeout), uint32(UTF16Len(w.Name)))
	return AppendUTF16(append(b, flag(w.TimeoutGiven), 0), w.Name)
}

// PipePeek is the output of FSCTL_PIPE_PEEK (MS-FSCC 2.3.46).
type PipePeek struct {
	State         uint32 // 3: connected
	ReadAvailable uint32 // bytes
	Messages      uint32
	MessageLength uint32 // bytes of the first message
	Data          []byte
}

// ParsePipePeek reads the output.
func ParsePipePeek(b []byte) (p PipePeek, err error) {
	if err = atLeast(b, 16); err != nil {
		return p, err
	}
	p = PipePeek{State: le.Uint32(b), ReadAvailable: le.Uint32(b[4:]), Messages: le.Uint32(b[8:]), MessageLength: le.Uint32(b[12:])}
	p.Data, err = within(b, 16, uint64(len(b)-16))
	return p, err
}

// Append appends the output.
func (p *PipePeek) Append(b []byte) []byte {
	b = le.AppendUint32(le.AppendUint32(b, p.State), p.ReadAvailable)
	b = le.AppendUint32(le.AppendUint32(b, p.Messages), p.MessageLength)
	return append(b, p.Data...)
}

// Integrity is the output of FSCTL_GET_INTEGRITY_INFORMATION (MS-FSCC 2.3.20).
type Integrity struct {
	Algorithm   uint16 // 0: no checksums
	Flags       uint32
	ChunkSize   uint32 // bytes
	ClusterSize uint32 // bytes
}

// Checksum algorithms of Integrity (MS-FSCC 2.3.20).
const (
	ChecksumTypeNone      uint16 = 0x0000
	ChecksumTypeCRC64     uint16 = 0x0002
	ChecksumTypeUnchanged uint16 = 0xffff // of FSCTL_SET_INTEGRITY_INFORMATION
)

// Append appends the output.
func (i *Integrity) Append(b []byte) []byte {
	b = le.AppendUint16(le.AppendUint16(b, i.Algorithm), 0)
	b = le.AppendUint32(b, i.Flags)
	return le.AppendUint32(le.AppendUint32(b, i.ChunkSize), i.ClusterSize)
}

// ParseIntegrity reads the output.
func ParseIntegrity(b []byte) (i Integrity, err error) {
	if err = atLeast(b, 16); err != nil {
		return i, err
	}
	return Integrity{le.Uint16(b), le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:])}, nil
}
