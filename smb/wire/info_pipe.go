package wire

// PipeInfo is FilePipeInformation (MS-FSCC 2.4.37).
type PipeInfo struct {
	ReadMode       uint32 // 0: bytes, 1: messages
	CompletionMode uint32 // 0: wait, 1: do not
}

// ParsePipeInfo reads the class.
func ParsePipeInfo(b []byte) (i PipeInfo, err error) {
	if err = atLeast(b, 8); err != nil {
		return i, err
	}
	return PipeInfo{le.Uint32(b), le.Uint32(b[4:])}, nil
}

// Append appends the class.
func (i *PipeInfo) Append(b []byte) []byte {
	return le.AppendUint32(le.AppendUint32(b, i.ReadMode), i.CompletionMode)
}

// PipeLocalInfo is FilePipeLocalInformation (MS-FSCC 2.4.38).
type PipeLocalInfo struct {
	Type             uint32 // 0: bytes, 1: messages
	Configuration    uint32 // 2: full duplex
	MaxInstances     uint32
	CurrentInstances uint32
	InboundQuota     uint32 // bytes
	ReadAvailable    uint32 // bytes
	OutboundQuota    uint32 // bytes
	WriteAvailable   uint32 // bytes
	State            uint32 // 3: connected
	End              uint32 // 0: client, 1: server
}

const pipeLocalLen = 40

func (i *PipeLocalInfo) fields() [10]*uint32 {
	return [10]*uint32{&i.Type, &i.Configuration, &i.MaxInstances, &i.CurrentInstances, &i.InboundQuota,
		&i.ReadAvailable, &i.OutboundQuota, &i.WriteAvailable, &i.State, &i.End}
}

// ParsePipeLocalInfo reads the class.
func ParsePipeLocalInfo(b []byte) (i PipeLocalInfo, err error) {
	if err = atLeast(b, pipeLocalLen); err != nil {
		return i, err
	}
	for n, f := range i.fields() {
		*f = le.Uint32(b[4*n:])
	}
	return i, nil
}

// Append appends the class.
func (i *PipeLocalInfo) Append(b []byte) []byte {
	for _, f := range i.fields() {
		b = le.AppendUint32(b, *f)
	}
	return b
}
