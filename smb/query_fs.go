package smb

import (
	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// filesystemQueries are the information classes of file systems that a client can query (MS-FSCC 2.5, MS-FSA
// 2.1.5.13).
var filesystemQueries = map[wire.InfoClass]infoRow{
	wire.FileFsVolumeInformation:     {0, queryFsVolume},
	wire.FileFsSizeInformation:       {0, queryFsSize},
	wire.FileFsDeviceInformation:     {0, queryFsDevice},
	wire.FileFsAttributeInformation:  {0, queryFsAttributes},
	wire.FileFsControlInformation:    {0, queryFsControl},
	wire.FileFsFullSizeInformation:   {0, queryFsFullSize},
	wire.FileFsObjectIDInformation:   {0, queryFsObjectID},
	wire.FileFsSectorSizeInformation: {0, queryFsSectors},
	wire.FileFsPosixInformation:      {0, queryFsPosix},
}

// sector is the sector size that clients see, in bytes. The server does not depend on it, but virtual disks need it
// to stay the same.
const (
	sector         = 512
	physicalSector = 4096
)

func queryFsVolume(iq *infoQuery) wire.Status {
	sh := iq.o.share
	root, err := sh.FS.Root(iq.ctx)
	if err != nil {
		return statusOf(err)
	}
	defer root.Release()
	i, err := infoOf(iq.ctx, sh.view(), root, "")
	if err != nil {
		return statusOf(err)
	}
	return iq.say(&wire.FsVolumeInfo{CreationTime: i.times.Creation, Serial: uint32(sh.volume()), Label: sh.Name})
}

// capacity returns the file system's capacity, and the unit of the counts in bytes, which is a power of two.
func (iq *infoQuery) capacity() (s vfs.StatFS, unit uint64, st wire.Status) {
	s, err := iq.o.share.FS.StatFS(iq.ctx, iq.o.cred)
	if err != nil {
		return s, 0, statusOf(err)
	}
	return s, max(uint64(s.BlockSize)/sector*sector, sector), wire.StatusSuccess
}

func queryFsSize(iq *infoQuery) wire.Status {
	s, unit, st := iq.capacity()
	if st != wire.StatusSuccess {
		return st
	}
	return iq.say(&wire.FsSizeInfo{
		TotalUnits: s.TotalBytes / unit, AvailableUnits: s.AvailBytes / unit, SectorsPerUnit: uint32(unit / sector), BytesPerSector: sector,
	})
}

func queryFsFullSize(iq *infoQuery) wire.Status {
	s, unit, st := iq.capacity()
	if st != wire.StatusSuccess {
		return st
	}
	return iq.say(&wire.FsFullSizeInfo{
		TotalUnits: s.TotalBytes / unit, CallerAvailableUnits: s.AvailBytes / unit, ActualAvailableUnits: s.FreeBytes / unit,
		SectorsPerUnit: uint32(unit / sector), BytesPerSector: sector,
	})
}

func queryFsDevice(iq *infoQuery) wire.Status {
	return iq.say(&wire.FsDeviceInfo{Type: wire.FileDeviceDisk, Characteristics: wire.FileDeviceIsMounted | wire.FileRemoteDevice})
}

// queryFsAttributes returns the abilities of the file system.
func queryFsAttributes(iq *infoQuery) wire.Status {
	sh := iq.o.share
	caps := sh.FS.Caps()
	a := wire.FileCasePreservedNames | wire.FileUnicodeOnDisk | wire.FileSupportsReparsePoints | wire.FileSupportsHardLinks |
		wire.FileSupportsObjectIDs
	if sh.CaseSensitive {
		a |= wire.FileCaseSensitiveSearch
	}
	if root, err := sh.FS.Root(iq.ctx); err == nil {
		if namespace.HasStreams(iq.ctx, root) {
			a |= wire.FileSupportsExtendedAttributes | wire.FileNamedStreams
		}
		root.Release()
	}
	if caps.Holes {
		a |= wire.FileSupportsSparseFiles
	}
	if caps.Clones {
		a |= wire.FileSupportsBlockRefcounting
	}
	if sh.readOnly() {
		a |= wire.FileReadOnlyVolume
	}
	return iq.say(&wire.FsAttributeInfo{Attributes: a, MaxNameLength: uint32(min(caps.MaxName, 255)), Name: "NTFS"})
}

// queryFsControl says that quotas are neither tracked nor enforced: no flags, no threshold and no limit (MS-FSCC 2.5.2).
func queryFsControl(iq *infoQuery) wire.Status {
	const none = ^uint64(0)
	return iq.say(&wire.FsControlInfo{DefaultQuotaThreshold: none, DefaultQuotaLimit: none})
}

func queryFsObjectID(iq *infoQuery) wire.Status {
	return iq.say(&wire.FsObjectIDInfo{ObjectID: iq.o.share.FS.Caps().FSID})
}

func queryFsSectors(iq *infoQuery) wire.Status {
	i := wire.FsSectorSizeInfo{
		Logical: sector, PhysicalForAtomicity: physicalSector, PhysicalForPerformance: physicalSector, EffectiveForAtomicity: physicalSector,
		Flags: wire.SSInfoAlignedDevice | wire.SSInfoPartitionAlignedOnDevice | wire.SSInfoNoSeekPenalty,
	}
	if iq.o.share.FS.Caps().Holes {
		i.Flags |= wire.SSInfoTrimEnabled
	}
	return iq.say(&i)
}

// queryFsPosix returns what statfs(2) does, for clients with the POSIX extensions (SMB 3.1.1 POSIX Extensions
// 2.2.39.2).
func queryFsPosix(iq *infoQuery) wire.Status {
	if !iq.r.conn.neg.Load().posix {
		return wire.StatusInvalidInfoClass
	}
	s, unit, st := iq.capacity()
	if st != wire.StatusSuccess {
		return st
	}
	return iq.say(&wire.FsPosixInfo{
		OptimalTransferSize: iq.r.conn.neg.Load().maxRead, BlockSize: uint32(unit), TotalBlocks: s.TotalBytes / unit, FreeBlocks: s.FreeBytes / unit,
		AvailableBlocks: s.AvailBytes / unit, TotalFiles: s.TotalFiles, FreeFiles: s.FreeFiles, ID: iq.o.share.volume(),
	})
}
