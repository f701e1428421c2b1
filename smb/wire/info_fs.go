package wire

// FsVolumeInfo is FileFsVolumeInformation (MS-FSCC 2.5.9).
type FsVolumeInfo struct {
	CreationTime    Filetime
	Serial          uint32
	SupportsObjects bool
	Label           string
}

const fsVolumeFixedLen = 18

// ParseFsVolumeInfo reads the class.
func ParseFsVolumeInfo(b []byte) (i FsVolumeInfo, err error) {
	if err = atLeast(b, fsVolumeFixedLen); err != nil {
		return i, err
	}
	label, err := within(b[fsVolumeFixedLen:], 0, uint64(le.Uint32(b[12:])))
	if err != nil {
		return i, err
	}
	i = FsVolumeInfo{CreationTime: getFiletime(b), Serial: le.Uint32(b[8:]), SupportsObjects: b[16] != 0}
	i.Label, err = UTF16(label)
	return i, err
}

// Append appends the class.
func (i *FsVolumeInfo) Append(b []byte) []byte {
	b = le.AppendUint32(i.CreationTime.append(b), i.Serial)
	b = le.AppendUint32(b, uint32(UTF16Len(i.Label)))
	return AppendUTF16(append(b, flag(i.SupportsObjects), 0), i.Label)
}

// FsSizeInfo is FileFsSizeInformation (MS-FSCC 2.5.8).
type FsSizeInfo struct {
	TotalUnits     uint64 // allocation units
	AvailableUnits uint64
	SectorsPerUnit uint32
	BytesPerSector uint32
}

const fsSizeLen = 24

// ParseFsSizeInfo reads the class.
func ParseFsSizeInfo(b []byte) (i FsSizeInfo, err error) {
	if err = atLeast(b, fsSizeLen); err != nil {
		return i, err
	}
	return FsSizeInfo{le.Uint64(b), le.Uint64(b[8:]), le.Uint32(b[16:]), le.Uint32(b[20:])}, nil
}

// Append appends the class.
func (i *FsSizeInfo) Append(b []byte) []byte {
	b = le.AppendUint64(le.AppendUint64(b, i.TotalUnits), i.AvailableUnits)
	return le.AppendUint32(le.AppendUint32(b, i.SectorsPerUnit), i.BytesPerSector)
}

// FsFullSizeInfo is FileFsFullSizeInformation (MS-FSCC 2.5.4).
type FsFullSizeInfo struct {
	TotalUnits           uint64 // allocation units
	CallerAvailableUnits uint64
	ActualAvailableUnits uint64
	SectorsPerUnit       uint32
	BytesPerSector       uint32
}

const fsFullSizeLen = 32

// ParseFsFullSizeInfo reads the class.
func ParseFsFullSizeInfo(b []byte) (i FsFullSizeInfo, err error) {
	if err = atLeast(b, fsFullSizeLen); err != nil {
		return i, err
	}
	return FsFullSizeInfo{le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint32(b[24:]), le.Uint32(b[28:])}, nil
}

// Append appends the class.
func (i *FsFullSizeInfo) Append(b []byte) []byte {
	b = le.AppendUint64(le.AppendUint64(b, i.TotalUnits), i.CallerAvailableUnits)
	b = le.AppendUint64(b, i.ActualAvailableUnits)
	return le.AppendUint32(le.AppendUint32(b, i.SectorsPerUnit), i.BytesPerSector)
}

// Device types and characteristics (MS-FSCC 2.5.10).
const (
	FileDeviceDisk      uint32 = 0x00000007
	FileDeviceNamedPipe uint32 = 0x00000011

	FileRemoteDevice    uint32 = 0x00000010
	FileDeviceIsMounted uint32 = 0x00000020
)

// FsDeviceInfo is FileFsDeviceInformation (MS-FSCC 2.5.10).
type FsDeviceInfo struct {
	Type            uint32
	Characteristics uint32
}

// ParseFsDeviceInfo reads the class.
func ParseFsDeviceInfo(b []byte) (i FsDeviceInfo, err error) {
	if err = atLeast(b, 8); err != nil {
		return i, err
	}
	return FsDeviceInfo{le.Uint32(b), le.Uint32(b[4:])}, nil
}

// Append appends the class.
func (i *FsDeviceInfo) Append(b []byte) []byte {
	return le.AppendUint32(le.AppendUint32(b, i.Type), i.Characteristics)
}

// FsAttributes say what a file system can do (MS-FSCC 2.5.1).
type FsAttributes uint32

// Attributes of file systems.
const (
	FileCaseSensitiveSearch        FsAttributes = 0x00000001
	FileCasePreservedNames         FsAttributes = 0x00000002
	FileUnicodeOnDisk              FsAttributes = 0x00000004
	FilePersistentACLs             FsAttributes = 0x00000008
	FileFileCompression            FsAttributes = 0x00000010
	FileVolumeQuotas               FsAttributes = 0x00000020
	FileSupportsSparseFiles        FsAttributes = 0x00000040
	FileSupportsReparsePoints      FsAttributes = 0x00000080
	FileVolumeIsCompressed         FsAttributes = 0x00008000
	FileSupportsObjectIDs          FsAttributes = 0x00010000
	FileSupportsEncryption         FsAttributes = 0x00020000
	FileNamedStreams               FsAttributes = 0x00040000
	FileReadOnlyVolume             FsAttributes = 0x00080000
	FileSequentialWriteOnce        FsAttributes = 0x00100000
	FileSupportsTransactions       FsAttributes = 0x00200000
	FileSupportsHardLinks          FsAttributes = 0x00400000
	FileSupportsExtendedAttributes FsAttributes = 0x00800000
	FileSupportsOpenByFileID       FsAttributes = 0x01000000
	FileSupportsUSNJournal         FsAttributes = 0x02000000
	FileSupportsIntegrityStreams   FsAttributes = 0x04000000
	FileSupportsBlockRefcounting   FsAttributes = 0x08000000
	FileSupportsSparseVDL          FsAttributes = 0x10000000
	FileSupportsPosixUnlinkRename  FsAttributes = 0x00000400
	FileReturnsCleanupResultInfo   FsAttributes = 0x00000200
)

// FsAttributeInfo is FileFsAttributeInformation (MS-FSCC 2.5.1).
type FsAttributeInfo struct {
	Attributes    FsAttributes
	MaxNameLength uint32 // characters of a component
	Name          string // of the file system
}

// ParseFsAttributeInfo reads the class.
func ParseFsAttributeInfo(b []byte) (i FsAttributeInfo, err error) {
	if err = atLeast(b, 12); err != nil {
		return i, err
	}
	i = FsAttributeInfo{Attributes: FsAttributes(le.Uint32(b)), MaxNameLength: le.Uint32(b[4:])}
	i.Name, err = ParseNameInfo(b[8:])
	return i, err
}

// Append appends the class.
func (i *FsAttributeInfo) Append(b []byte) []byte {
	b = le.AppendUint32(le.AppendUint32(b, uint32(i.Attributes)), i.MaxNameLength)
	return AppendNameInfo(b, i.Name)
}

// FsControlInfo is FileFsControlInformation: quotas, which the server does not have (MS-FSCC 2.5.2).
type FsControlInfo struct {
	FreeSpaceStartFiltering uint64 // bytes
	FreeSpaceThreshold      uint64 // bytes
	FreeSpaceStopFiltering  uint64 // bytes
	DefaultQuotaThreshold   uint64 // bytes; all bits set: none
	DefaultQuotaLimit       uint64 // bytes; all bits set: none
	Flags                   uint32
}

const fsControlLen = 48

// ParseFsControlInfo reads the class.
func ParseFsControlInfo(b []byte) (i FsControlInfo, err error) {
	// The last four bytes are padding.
	if err = atLeast(b, fsControlLen-4); err != nil {
		return i, err
	}
	return FsControlInfo{le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:]), le.Uint64(b[32:]), le.Uint32(b[40:])}, nil
}

// Append appends the class.
func (i *FsControlInfo) Append(b []byte) []byte {
	b = le.AppendUint64(b, i.FreeSpaceStartFiltering)
	b = le.AppendUint64(b, i.FreeSpaceThreshold)
	b = le.AppendUint64(b, i.FreeSpaceStopFiltering)
	b = le.AppendUint64(b, i.DefaultQuotaThreshold)
	b = le.AppendUint64(b, i.DefaultQuotaLimit)
	return le.AppendUint32(le.AppendUint32(b, i.Flags), 0)
}

// FsObjectIDInfo is FileFsObjectIdInformation (MS-FSCC 2.5.6).
type FsObjectIDInfo struct {
	ObjectID GUID
	Extended [48]byte
}

const fsObjectIDLen = 64

// ParseFsObjectIDInfo reads the class.
func ParseFsObjectIDInfo(b []byte) (i FsObjectIDInfo, err error) {
	if err = atLeast(b, fsObjectIDLen); err != nil {
		return i, err
	}
	return FsObjectIDInfo{getGUID(b), [48]byte(b[16:64])}, nil
}

// Append appends the class.
func (i *FsObjectIDInfo) Append(b []byte) []byte {
	return append(append(b, i.ObjectID[:]...), i.Extended[:]...)
}

// Flags of FsSectorSizeInfo (MS-FSCC 2.5.7).
const (
	SSInfoAlignedDevice            uint32 = 0x00000001
	SSInfoPartitionAlignedOnDevice uint32 = 0x00000002
	SSInfoNoSeekPenalty            uint32 = 0x00000004
	SSInfoTrimEnabled              uint32 = 0x00000008
)

// FsSectorSizeInfo is FileFsSectorSizeInformation; all in bytes (MS-FSCC 2.5.7).
type FsSectorSizeInfo struct {
	Logical                uint32
	PhysicalForAtomicity   uint32
	PhysicalForPerformance uint32
	EffectiveForAtomicity  uint32
	Flags                  uint32
	OffsetForSector        uint32
	OffsetForPartition     uint32
}

const fsSectorSizeLen = 28

func (i *FsSectorSizeInfo) fields() [7]*uint32 {
	return [7]*uint32{&i.Logical, &i.PhysicalForAtomicity, &i.PhysicalForPerformance, &i.EffectiveForAtomicity,
		&i.Flags, &i.OffsetForSector, &i.OffsetForPartition}
}

// ParseFsSectorSizeInfo reads the class.
func ParseFsSectorSizeInfo(b []byte) (i FsSectorSizeInfo, err error) {
	if err = atLeast(b, fsSectorSizeLen); err != nil {
		return i, err
	}
	for n, f := range i.fields() {
		*f = le.Uint32(b[4*n:])
	}
	return i, nil
}

// Append appends the class.
func (i *FsSectorSizeInfo) Append(b []byte) []byte {
	for _, f := range i.fields() {
		b = le.AppendUint32(b, *f)
	}
	return b
}

// FsPosixInfo is FileFsPosixInformation: the figures of statfs(2) (SMB 3.1.1 POSIX Extensions 2.2.39.2).
type FsPosixInfo struct {
	OptimalTransferSize uint32 // bytes
	BlockSize           uint32 // bytes
	TotalBlocks         uint64
	FreeBlocks          uint64
	AvailableBlocks     uint64 // to the user
	TotalFiles          uint64
	FreeFiles           uint64
	ID                  uint64
}

const fsPosixLen = 56

// ParseFsPosixInfo reads the class.
func ParseFsPosixInfo(b []byte) (i FsPosixInfo, err error) {
	if err = atLeast(b, fsPosixLen); err != nil {
		return i, err
	}
	return FsPosixInfo{le.Uint32(b), le.Uint32(b[4:]), le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:]),
		le.Uint64(b[32:]), le.Uint64(b[40:]), le.Uint64(b[48:])}, nil
}

// Append appends the class.
func (i *FsPosixInfo) Append(b []byte) []byte {
	b = le.AppendUint32(le.AppendUint32(b, i.OptimalTransferSize), i.BlockSize)
	for _, v := range []uint64{i.TotalBlocks, i.FreeBlocks, i.AvailableBlocks, i.TotalFiles, i.FreeFiles, i.ID} {
		b = le.AppendUint64(b, v)
	}
	return b
}
