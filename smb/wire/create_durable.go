package wire

// ParseDurableReconnect reads the data of DHnC: the file ID of the open to reconnect to (MS-SMB2 2.2.13.2.4).
func ParseDurableReconnect(d []byte) (FileID, error) {
	if len(d) != 16 {
		return FileID{}, malformed("DHnC of %d bytes", len(d))
	}
	return getFileID(d), nil
}

// AppendDurableReconnect appends the data of DHnC.
func AppendDurableReconnect(b []byte, f FileID) []byte { return f.append(b) }

// AppendDurableRequest appends the data of DHnQ, which is reserved (MS-SMB2 2.2.13.2.3).
func AppendDurableRequest(b []byte) []byte { return zeros(b, 16) }

// AppendDurableResponse appends the data of DHnQ in a response, which is reserved (MS-SMB2 2.2.14.2.3).
func AppendDurableResponse(b []byte) []byte { return zeros(b, 8) }

// DurableHandlePersistent is the flag of DH2Q and DH2C that asks for, or grants, a persistent handle (MS-SMB2 2.2.13.2.11).
const DurableHandlePersistent uint32 = 0x00000002

// DurableRequestV2 is DH2Q (MS-SMB2 2.2.13.2.11).
type DurableRequestV2 struct {
	Timeout    uint32 // ms; 0 leaves it to the server
	Flags      uint32
	CreateGUID GUID
}

// ParseDurableRequestV2 reads the data of DH2Q.
func ParseDurableRequestV2(d []byte) (r DurableRequestV2, err error) {
	if len(d) != 32 {
		return r, malformed("DH2Q of %d bytes", len(d))
	}
	return DurableRequestV2{Timeout: le.Uint32(d), Flags: le.Uint32(d[4:]), CreateGUID: getGUID(d[16:])}, nil
}

// Append appends the data of DH2Q.
func (r *DurableRequestV2) Append(b []byte) []byte {
	b = le.AppendUint32(b, r.Timeout)
	b = le.AppendUint32(b, r.Flags)
	return append(zeros(b, 8), r.CreateGUID[:]...)
}

// DurableResponseV2 is the DH2Q of a response (MS-SMB2 2.2.14.2.12).
type DurableResponseV2 struct {
	Timeout uint32 // ms
	Flags   uint32
}

// Append appends the data.
func (r *DurableResponseV2) Append(b []byte) []byte {
	return le.AppendUint32(le.AppendUint32(b, r.Timeout), r.Flags)
}

// ParseDurableResponseV2 reads the data.
func ParseDurableResponseV2(d []byte) (r DurableResponseV2, err error) {
	if len(d) != 8 {
		return r, malformed("DH2Q of %d bytes", len(d))
	}
	return DurableResponseV2{le.Uint32(d), le.Uint32(d[4:])}, nil
}

// DurableReconnectV2 is DH2C (MS-SMB2 2.2.13.2.12).
type DurableReconnectV2 struct {
	FileID     FileID
	CreateGUID GUID
	Flags      uint32
}

// ParseDurableReconnectV2 reads the data of DH2C.
func ParseDurableReconnectV2(d []byte) (r DurableReconnectV2, err error) {
	if len(d) != 36 {
		return r, malformed("DH2C of %d bytes", len(d))
	}
	return DurableReconnectV2{getFileID(d), getGUID(d[16:]), le.Uint32(d[32:])}, nil
}

// Append appends the data of DH2C.
func (r *DurableReconnectV2) Append(b []byte) []byte {
	b = append(r.FileID.append(b), r.CreateGUID[:]...)
	return le.AppendUint32(b, r.Flags)
}

// ParseAppInstanceID reads the data of CreateAppInstanceID (MS-SMB2 2.2.13.2.13).
func ParseAppInstanceID(d []byte) (GUID, error) {
	if len(d) < 20 || le.Uint16(d) != 20 {
		return GUID{}, malformed("AppInstanceId of %d bytes", len(d))
	}
	return getGUID(d[4:]), nil
}

// AppendAppInstanceID appends the data of CreateAppInstanceID.
func AppendAppInstanceID(b []byte, id GUID) []byte {
	return append(append(b, 20, 0, 0, 0), id[:]...)
}

// AppInstanceVersion is the version of an application's instance: versions compare by High, then by Low (MS-SMB2
// 2.2.13.2.15).
type AppInstanceVersion struct{ High, Low uint64 }

// ParseAppInstanceVersion reads the data of CreateAppInstanceVersion.
func ParseAppInstanceVersion(d []byte) (v AppInstanceVersion, err error) {
	if len(d) < 24 || le.Uint16(d) != 24 {
		return v, malformed("AppInstanceVersion of %d bytes", len(d))
	}
	return AppInstanceVersion{le.Uint64(d[8:]), le.Uint64(d[16:])}, nil
}

// Append appends the data of CreateAppInstanceVersion.
func (v *AppInstanceVersion) Append(b []byte) []byte {
	b = append(b, 24, 0, 0, 0, 0, 0, 0, 0)
	return le.AppendUint64(le.AppendUint64(b, v.High), v.Low)
}
