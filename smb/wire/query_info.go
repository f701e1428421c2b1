package wire

// InfoType is the kind of information of a QUERY_INFO or SET_INFO (MS-SMB2 2.2.37).
type InfoType uint8

// Info types.
const (
	InfoFile       InfoType = 0x01
	InfoFilesystem InfoType = 0x02
	InfoSecurity   InfoType = 0x03
	InfoQuota      InfoType = 0x04
)

// Parts of a security descriptor: AdditionalInformation of QUERY_INFO and SET_INFO with InfoSecurity (MS-SMB2 2.2.37).
const (
	OwnerSecurityInformation     uint32 = 0x00000001
	GroupSecurityInformation     uint32 = 0x00000002
	DACLSecurityInformation      uint32 = 0x00000004
	SACLSecurityInformation      uint32 = 0x00000008
	LabelSecurityInformation     uint32 = 0x00000010
	AttributeSecurityInformation uint32 = 0x00000020
	ScopeSecurityInformation     uint32 = 0x00000040
	BackupSecurityInformation    uint32 = 0x00010000
)

// Flags of a QUERY_INFO for FileFullEaInformation (MS-SMB2 2.2.37).
const (
	QueryInfoRestartScan       uint32 = 0x00000001
	QueryInfoReturnSingleEntry uint32 = 0x00000002
	QueryInfoIndexSpecified    uint32 = 0x00000004
)

// QueryInfoRequest is an SMB2 QUERY_INFO Request (MS-SMB2 2.2.37). It is answered with an OutputResponse.
type QueryInfoRequest struct {
	Type         InfoType
	Class        InfoClass
	OutputLength uint32 // bytes
	Additional   uint32
	Flags        uint32
	FileID       FileID
	Input        []byte
}

// ParseQueryInfoRequest reads the request msg.
func ParseQueryInfoRequest(msg []byte) (r QueryInfoRequest, err error) {
	b, err := body(msg, 41, 40)
	if err != nil {
		return r, err
	}
	r.Type = InfoType(b[2])
	r.Class = InfoClass(b[3])
	r.OutputLength = le.Uint32(b[4:])
	r.Additional = le.Uint32(b[16:])
	r.Flags = le.Uint32(b[20:])
	r.FileID = getFileID(b[24:])
	r.Input, err = span(msg, uint64(le.Uint16(b[8:])), uint64(le.Uint32(b[12:])))
	return r, err
}

// Append appends the body of the request, whose header is at b[at:].
func (r *QueryInfoRequest) Append(b []byte, at int) []byte {
	off := 0
	if len(r.Input) > 0 {
		off = len(b) - at + 40
	}
	b = le.AppendUint16(b, 41)
	b = append(b, uint8(r.Type), uint8(r.Class))
	b = le.AppendUint32(b, r.OutputLength)
	b = le.AppendUint32(b, uint32(off))
	b = le.AppendUint32(b, uint32(len(r.Input)))
	b = le.AppendUint32(b, r.Additional)
	b = le.AppendUint32(b, r.Flags)
	b = r.FileID.append(b)
	if len(r.Input) == 0 {
		return append(b, 0) // the buffer has at least one byte
	}
	return append(b, r.Input...)
}
