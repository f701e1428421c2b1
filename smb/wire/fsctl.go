package wire

import "fmt"

// FsctlCode is a file system control code (MS-FSCC 2.3, MS-SMB2 2.2.31).
type FsctlCode uint32

// FSCTL codes.
const (
	FsctlDFSGetReferrals           FsctlCode = 0x00060194
	FsctlDFSGetReferralsEx         FsctlCode = 0x000601b0
	FsctlPipePeek                  FsctlCode = 0x0011400c
	FsctlPipeWait                  FsctlCode = 0x00110018
	FsctlPipeTransceive            FsctlCode = 0x0011c017
	FsctlSrvCopychunk              FsctlCode = 0x001440f2
	FsctlSrvCopychunkWrite         FsctlCode = 0x001480f2
	FsctlSrvEnumerateSnapshots     FsctlCode = 0x00144064
	FsctlSrvRequestResumeKey       FsctlCode = 0x00140078
	FsctlSrvReadHash               FsctlCode = 0x001441bb
	FsctlLMRRequestResiliency      FsctlCode = 0x001401d4
	FsctlQueryNetworkInterfaceInfo FsctlCode = 0x001401fc
	FsctlValidateNegotiateInfo     FsctlCode = 0x00140204
	FsctlIsPathnameValid           FsctlCode = 0x0009002c
	FsctlGetCompression            FsctlCode = 0x0009003c
	FsctlSetCompression            FsctlCode = 0x0009c040
	FsctlFilesystemGetStatistics   FsctlCode = 0x00090060
	FsctlGetNTFSVolumeData         FsctlCode = 0x00090064
	FsctlGetRetrievalPointers      FsctlCode = 0x00090073
	FsctlFindFilesBySID            FsctlCode = 0x0009008f
	FsctlSetObjectID               FsctlCode = 0x00090098
	FsctlGetObjectID               FsctlCode = 0x0009009c
	FsctlDeleteObjectID            FsctlCode = 0x000900a0
	FsctlSetReparsePoint           FsctlCode = 0x000900a4
	FsctlGetReparsePoint           FsctlCode = 0x000900a8
	FsctlDeleteReparsePoint        FsctlCode = 0x000900ac
	FsctlSetObjectIDExtended       FsctlCode = 0x000900bc
	FsctlCreateOrGetObjectID       FsctlCode = 0x000900c0
	FsctlSetSparse                 FsctlCode = 0x000900c4
	FsctlSetZeroData               FsctlCode = 0x000980c8
	FsctlQueryAllocatedRanges      FsctlCode = 0x000940cf
	FsctlSetEncryption             FsctlCode = 0x000900d7
	FsctlReadFileUSNData           FsctlCode = 0x000900eb
	FsctlMarkHandle                FsctlCode = 0x000900fc
	FsctlQuerySparingInfo          FsctlCode = 0x00090138
	FsctlQueryOnDiskVolumeInfo     FsctlCode = 0x0009013c
	FsctlSetZeroOnDeallocation     FsctlCode = 0x00090194
	FsctlFileLevelTrim             FsctlCode = 0x00098208
	FsctlOffloadRead               FsctlCode = 0x00094264
	FsctlOffloadWrite              FsctlCode = 0x00098268
	FsctlGetIntegrityInformation   FsctlCode = 0x0009027c
	FsctlSetIntegrityInformation   FsctlCode = 0x0009c280
	FsctlSetIntegrityInformationEx FsctlCode = 0x00090380
	FsctlQueryFileRegions          FsctlCode = 0x00090284
	FsctlGetReFSVolumeData         FsctlCode = 0x000902d8
	FsctlQuerySharedVirtualDisk    FsctlCode = 0x00090300 // FSCTL_QUERY_SHARED_VIRTUAL_DISK_SUPPORT
	FsctlSVHDXSyncTunnelRequest    FsctlCode = 0x00090304
	FsctlSVHDXAsyncTunnelRequest   FsctlCode = 0x00090364
	FsctlStorageQoSControl         FsctlCode = 0x00090350
	FsctlDuplicateExtentsToFile    FsctlCode = 0x00098344
	FsctlDuplicateExtentsToFileEx  FsctlCode = 0x000983e8
)

// String returns the code in hexadecimal, as the specifications and traces show it.
func (c FsctlCode) String() string { return fmt.Sprintf("FSCTL %#08x", uint32(c)) }

// ParseResiliency reads the input of FSCTL_LMR_REQUEST_RESILIENCY: the timeout, ms (MS-SMB2 2.2.31.3).
func ParseResiliency(b []byte) (timeout uint32, err error) {
	if err := atLeast(b, 8); err != nil {
		return 0, err
	}
	return le.Uint32(b), nil
}

// AppendResiliency appends the input of FSCTL_LMR_REQUEST_RESILIENCY.
func AppendResiliency(b []byte, timeout uint32) []byte {
	return le.AppendUint32(le.AppendUint32(b, timeout), 0)
}

// ParseSetSparse reads the input of FSCTL_SET_SPARSE. Empty input means true (MS-FSCC 2.3.83).
func ParseSetSparse(b []byte) bool { return len(b) == 0 || b[0] != 0 }

// ParseCompressionFormat reads the input of FSCTL_SET_COMPRESSION (MS-FSCC 2.3.67).
func ParseCompressionFormat(b []byte) (uint16, error) {
	if err := atLeast(b, 2); err != nil {
		return 0, err
	}
	return le.Uint16(b), nil
}

// Compression formats of files (MS-FSCC 2.3.18).
const (
	CompressionFormatNone    uint16 = 0x0000
	CompressionFormatDefault uint16 = 0x0001
	CompressionFormatLZNT1   uint16 = 0x0002
)

// AppendCompressionFormat appends the output of FSCTL_GET_COMPRESSION (MS-FSCC 2.3.18).
func AppendCompressionFormat(b []byte, f uint16) []byte { return le.AppendUint16(b, f) }

// AppendSnapshots appends the output of FSCTL_SRV_ENUMERATE_SNAPSHOTS for a volume that has none (MS-SMB2 2.2.32.2).
func AppendSnapshots(b []byte) []byte {
	// Two zero characters end the empty list. The length field counts them, but the output has 16 bytes in any case.
	return zeros(append(zeros(b, 8), 2), 7)
}

// ObjectID is FILE_OBJECTID_BUFFER type 1 (MS-FSCC 2.1.3.1).
type ObjectID struct {
	ObjectID, BirthVolumeID, BirthObjectID, DomainID GUID
}

// Append appends the output of FSCTL_CREATE_OR_GET_OBJECT_ID and FSCTL_GET_OBJECT_ID.
func (o *ObjectID) Append(b []byte) []byte {
	b = append(append(b, o.ObjectID[:]...), o.BirthVolumeID[:]...)
	return append(append(b, o.BirthObjectID[:]...), o.DomainID[:]...)
}

// ParseObjectID reads the output of FSCTL_CREATE_OR_GET_OBJECT_ID and FSCTL_GET_OBJECT_ID.
func ParseObjectID(b []byte) (o ObjectID, err error) {
	if err = atLeast(b, 64); err != nil {
		return o, err
	}
	return ObjectID{getGUID(b), getGUID(b[16:]), getGUID(b[32:]), getGUID(b[48:])}, nil
}
