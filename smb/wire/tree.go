package wire

// Flags of TREE_CONNECT requests (MS-SMB2 2.2.9).
const (
	TreeConnectClusterReconnect uint16 = 0x0001
	TreeConnectRedirectToOwner  uint16 = 0x0002
	TreeConnectExtensionPresent uint16 = 0x0004
)

// ShareType of TREE_CONNECT responses (MS-SMB2 2.2.10).
const (
	ShareTypeDisk  = 0x01
	ShareTypePipe  = 0x02
	ShareTypePrint = 0x03
)

// ShareFlags of TREE_CONNECT responses (MS-SMB2 2.2.10).
const (
	ShareFlagManualCaching            uint32 = 0x00000000
	ShareFlagAutoCaching              uint32 = 0x00000010
	ShareFlagVDOCaching               uint32 = 0x00000020
	ShareFlagNoCaching                uint32 = 0x00000030
	ShareFlagDFS                      uint32 = 0x00000001
	ShareFlagDFSRoot                  uint32 = 0x00000002
	ShareFlagRestrictExclusiveOpens   uint32 = 0x00000100
	ShareFlagForceSharedDelete        uint32 = 0x00000200
	ShareFlagAllowNamespaceCaching    uint32 = 0x00000400
	ShareFlagAccessBasedDirectoryEnum uint32 = 0x00000800
	ShareFlagForceLevelIIOplock       uint32 = 0x00001000
	ShareFlagEnableHashV1             uint32 = 0x00002000
	ShareFlagEnableHashV2             uint32 = 0x00004000
	ShareFlagEncryptData              uint32 = 0x00008000
	ShareFlagIdentityRemoting         uint32 = 0x00040000
	ShareFlagCompressData             uint32 = 0x00100000
	ShareFlagIsolatedTransport        uint32 = 0x00200000
)

// Capabilities of shares (MS-SMB2 2.2.10).
const (
	ShareCapDFS                    uint32 = 0x00000008
	ShareCapContinuousAvailability uint32 = 0x00000010
	ShareCapScaleout               uint32 = 0x00000020
	ShareCapCluster                uint32 = 0x00000040
	ShareCapAsymmetric             uint32 = 0x00000080
	ShareCapRedirectToOwner        uint32 = 0x00000100
)

// TreeConnectRequest is an SMB2 TREE_CONNECT Request (MS-SMB2 2.2.9). The parser ignores the contexts of its extension
// (2.2.9.1), which are for clusters.
type TreeConnectRequest struct {
	Flags uint16 // reserved before 3.1.1
	Path  []byte // \\server\share in UTF-16LE
}

// ParseTreeConnectRequest reads the request msg.
func ParseTreeConnectRequest(msg []byte) (r TreeConnectRequest, err error) {
	b, err := body(msg, 9, 8)
	if err != nil {
		return r, err
	}
	r.Flags = le.Uint16(b[2:])
	r.Path, err = span(msg, uint64(le.Uint16(b[4:])), uint64(le.Uint16(b[6:])))
	return r, err
}

// Append appends the body of the request, whose header is at b[at:].
func (r *TreeConnectRequest) Append(b []byte, at int) []byte {
	b = le.AppendUint16(b, 9)
	b = le.AppendUint16(b, r.Flags)
	b = le.AppendUint16(b, uint16(len(b)+4-at))
	b = le.AppendUint16(b, uint16(len(r.Path)))
	return append(b, r.Path...)
}

// TreeConnectResponse is an SMB2 TREE_CONNECT Response (MS-SMB2 2.2.10).
type TreeConnectResponse struct {
	ShareType     uint8
	ShareFlags    uint32
	Capabilities  uint32
	MaximalAccess AccessMask
}

// Append appends the body of the response.
func (r *TreeConnectResponse) Append(b []byte, _ int) []byte {
	b = le.AppendUint16(b, 16)
	b = append(b, r.ShareType, 0)
	b = le.AppendUint32(b, r.ShareFlags)
	b = le.AppendUint32(b, r.Capabilities)
	return le.AppendUint32(b, uint32(r.MaximalAccess))
}

// ParseTreeConnectResponse reads the response msg.
func ParseTreeConnectResponse(msg []byte) (r TreeConnectResponse, err error) {
	b, err := body(msg, 16, 16)
	if err != nil {
		return r, err
	}
	r.ShareType = b[2]
	r.ShareFlags = le.Uint32(b[4:])
	r.Capabilities = le.Uint32(b[8:])
	r.MaximalAccess = AccessMask(le.Uint32(b[12:]))
	return r, nil
}
