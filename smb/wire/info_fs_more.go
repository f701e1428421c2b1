package wire

// FsControlInfo is FileFsControlInformation: quotas, of which there are none (MS-FSCC 2.5.2).
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

// FsPosixInfo is FileFsPosixInformation: what statfs(2) tells (SMB 3.1.1 POSIX Extensions 2.2.39.2).
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
