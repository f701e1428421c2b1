package wire

// ChangeNotifyWatchTree is the flag of a CHANGE_NOTIFY that watches the whole tree below the directory (MS-SMB2 2.2.35).
const ChangeNotifyWatchTree uint16 = 0x0001

// CompletionFilter of a CHANGE_NOTIFY: the changes it waits for (MS-SMB2 2.2.35).
const (
	NotifyChangeFileName    uint32 = 0x00000001
	NotifyChangeDirName     uint32 = 0x00000002
	NotifyChangeAttributes  uint32 = 0x00000004
	NotifyChangeSize        uint32 = 0x00000008
	NotifyChangeLastWrite   uint32 = 0x00000010
	NotifyChangeLastAccess  uint32 = 0x00000020
	NotifyChangeCreation    uint32 = 0x00000040
	NotifyChangeEA          uint32 = 0x00000080
	NotifyChangeSecurity    uint32 = 0x00000100
	NotifyChangeStreamName  uint32 = 0x00000200
	NotifyChangeStreamSize  uint32 = 0x00000400
	NotifyChangeStreamWrite uint32 = 0x00000800
)

// ChangeNotifyRequest is an SMB2 CHANGE_NOTIFY Request (MS-SMB2 2.2.35). It is answered with an OutputResponse.
type ChangeNotifyRequest struct {
	Flags        uint16
	OutputLength uint32 // bytes
	FileID       FileID
	Filter       uint32
}

// ParseChangeNotifyRequest reads the request msg.
func ParseChangeNotifyRequest(msg []byte) (r ChangeNotifyRequest, err error) {
	b, err := body(msg, 32, 32)
	if err != nil {
		return r, err
	}
	return ChangeNotifyRequest{le.Uint16(b[2:]), le.Uint32(b[4:]), getFileID(b[8:]), le.Uint32(b[24:])}, nil
}

// Append appends the body of the request.
func (r *ChangeNotifyRequest) Append(b []byte, _ int) []byte {
	b = le.AppendUint16(b, 32)
	b = le.AppendUint16(b, r.Flags)
	b = le.AppendUint32(b, r.OutputLength)
	b = r.FileID.append(b)
	return le.AppendUint32(le.AppendUint32(b, r.Filter), 0)
}
