package wire

// InfoClass is an information class: of files (MS-FSCC 2.4) or, with InfoFilesystem, of file systems (2.5).
type InfoClass uint8

// Information classes of files (MS-FSCC 2.4).
const (
	FileDirectoryInformation       InfoClass = 1
	FileFullDirectoryInformation   InfoClass = 2
	FileBothDirectoryInformation   InfoClass = 3
	FileBasicInformation           InfoClass = 4
	FileStandardInformation        InfoClass = 5
	FileInternalInformation        InfoClass = 6
	FileEaInformation              InfoClass = 7
	FileAccessInformation          InfoClass = 8
	FileNameInformation            InfoClass = 9
	FileRenameInformation          InfoClass = 10
	FileLinkInformation            InfoClass = 11
	FileNamesInformation           InfoClass = 12
	FileDispositionInformation     InfoClass = 13
	FilePositionInformation        InfoClass = 14
	FileFullEaInformation          InfoClass = 15
	FileModeInformation            InfoClass = 16
	FileAlignmentInformation       InfoClass = 17
	FileAllInformation             InfoClass = 18
	FileAllocationInformation      InfoClass = 19
	FileEndOfFileInformation       InfoClass = 20
	FileAlternateNameInformation   InfoClass = 21
	FileStreamInformation          InfoClass = 22
	FilePipeInformation            InfoClass = 23
	FilePipeLocalInformation       InfoClass = 24
	FilePipeRemoteInformation      InfoClass = 25
	FileCompressionInformation     InfoClass = 28
	FileObjectIDInformation        InfoClass = 29
	FileQuotaInformation           InfoClass = 32
	FileReparsePointInformation    InfoClass = 33
	FileNetworkOpenInformation     InfoClass = 34
	FileAttributeTagInformation    InfoClass = 35
	FileTrackingInformation        InfoClass = 36
	FileIDBothDirectoryInformation InfoClass = 37
	FileIDFullDirectoryInformation InfoClass = 38
	FileValidDataLengthInformation InfoClass = 39
	FileShortNameInformation       InfoClass = 40
	FileHardLinkInformation        InfoClass = 46
	FileNormalizedNameInformation  InfoClass = 48
	FileStandardLinkInformation    InfoClass = 54
	FileIDInformation              InfoClass = 59
	FileIDExtdDirectoryInformation InfoClass = 60
	FileDispositionInformationEx   InfoClass = 64
	FileRenameInformationEx        InfoClass = 65
	FileStatInformation            InfoClass = 68
	FileStatLXInformation          InfoClass = 70
	FileLinkInformationEx          InfoClass = 72
	FilePosixInformation           InfoClass = 100 // SMB 3.1.1 POSIX extensions: query, and directories
)

// Information classes of file systems (MS-FSCC 2.5).
const (
	FileFsVolumeInformation     InfoClass = 1
	FileFsLabelInformation      InfoClass = 2
	FileFsSizeInformation       InfoClass = 3
	FileFsDeviceInformation     InfoClass = 4
	FileFsAttributeInformation  InfoClass = 5
	FileFsControlInformation    InfoClass = 6
	FileFsFullSizeInformation   InfoClass = 7
	FileFsObjectIDInformation   InfoClass = 8
	FileFsDriverPathInformation InfoClass = 9
	FileFsVolumeFlagInformation InfoClass = 10
	FileFsSectorSizeInformation InfoClass = 11
	FileFsPosixInformation      InfoClass = 100 // SMB 3.1.1 POSIX extensions
)

// MinQueryFile returns the least OutputBufferLength, bytes, of a QUERY_INFO of a file for the class. A shorter one
// fails with STATUS_INFO_LENGTH_MISMATCH (MS-FSA 2.1.5.12). ok is false if the class cannot be queried.
func MinQueryFile(c InfoClass) (n int, ok bool) {
	switch c {
	case FileBasicInformation:
		return basicLen, true
	case FileStandardInformation:
		return standardLen, true
	case FileInternalInformation, FilePositionInformation:
		return 8, true
	case FileEaInformation, FileAccessInformation, FileModeInformation, FileAlignmentInformation:
		return 4, true
	case FileNameInformation, FileAlternateNameInformation, FileNormalizedNameInformation:
		return 8, true
	case FileFullEaInformation:
		return 0, true
	case FileAllInformation:
		return 104, true
	case FileStreamInformation:
		return 32, true
	case FilePipeInformation:
		return 8, true
	case FilePipeLocalInformation:
		return pipeLocalLen, true
	case FileCompressionInformation:
		return compressionLen, true
	case FileNetworkOpenInformation:
		return networkOpenLen, true
	case FileAttributeTagInformation:
		return 8, true
	case FileStandardLinkInformation:
		return standardLinkLen, true
	case FileIDInformation:
		return fileIDLen, true
	case FilePosixInformation:
		return posixFixedLen, true
	}
	return 0, false
}

// MinQueryFilesystem is MinQueryFile for a QUERY_INFO of a file system (MS-FSA 2.1.5.13).
func MinQueryFilesystem(c InfoClass) (n int, ok bool) {
	switch c {
	case FileFsVolumeInformation:
		return 24, true
	case FileFsSizeInformation:
		return fsSizeLen, true
	case FileFsDeviceInformation:
		return 8, true
	case FileFsAttributeInformation:
		return 16, true
	case FileFsControlInformation:
		return fsControlLen, true
	case FileFsFullSizeInformation:
		return fsFullSizeLen, true
	case FileFsObjectIDInformation:
		return fsObjectIDLen, true
	case FileFsSectorSizeInformation:
		return fsSectorSizeLen, true
	case FileFsPosixInformation:
		return fsPosixLen, true
	}
	return 0, false
}

// atLeast checks that b has at least n bytes. Every parser of an information class begins with it.
func atLeast(b []byte, n int) error {
	if len(b) < n {
		return malformed("information of %d bytes, %d are needed", len(b), n)
	}
	return nil
}

// ParseInfo8 reads an information class of one byte: FileDispositionInformation.
func ParseInfo8(b []byte) (uint8, error) {
	if err := atLeast(b, 1); err != nil {
		return 0, err
	}
	return b[0], nil
}

// ParseInfo32 reads an information class of one 32-bit number: Ea, Access, Mode,
// Alignment, DispositionEx (MS-FSCC 2.4.12, 2.4.1, 2.4.31, 2.4.3, 2.4.11).
func ParseInfo32(b []byte) (uint32, error) {
	if err := atLeast(b, 4); err != nil {
		return 0, err
	}
	return le.Uint32(b), nil
}

// AppendInfo32 appends an information class of one 32-bit number.
func AppendInfo32(b []byte, v uint32) []byte { return le.AppendUint32(b, v) }

// ParseInfo64 reads an information class of one 64-bit number: Internal,
// Position, EndOfFile, Allocation, ValidDataLength (MS-FSCC 2.4.27, 2.4.40, 2.4.14, 2.4.4, 2.4.50).
func ParseInfo64(b []byte) (uint64, error) {
	if err := atLeast(b, 8); err != nil {
		return 0, err
	}
	return le.Uint64(b), nil
}

// AppendInfo64 appends an information class of one 64-bit number.
func AppendInfo64(b []byte, v uint64) []byte { return le.AppendUint64(b, v) }

// Flags of FileDispositionInformationEx (MS-FSCC 2.4.12).
const (
	DispositionDelete                  uint32 = 0x00000001
	DispositionPosixSemantics          uint32 = 0x00000002
	DispositionForceImageSectionCheck  uint32 = 0x00000004
	DispositionOnClose                 uint32 = 0x00000008
	DispositionIgnoreReadonlyAttribute uint32 = 0x00000010
)
