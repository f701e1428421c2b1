package wire

// AccessMask is a set of rights (MS-SMB2 2.2.13.1, MS-DTYP 2.4.3).
type AccessMask uint32

// Rights of files and pipes (MS-SMB2 2.2.13.1.1). Some have another name for directories (2.2.13.1.2).
const (
	FileReadData        AccessMask = 0x00000001
	FileListDirectory   AccessMask = 0x00000001
	FileWriteData       AccessMask = 0x00000002
	FileAddFile         AccessMask = 0x00000002
	FileAppendData      AccessMask = 0x00000004
	FileAddSubdirectory AccessMask = 0x00000004
	FileReadEA          AccessMask = 0x00000008
	FileWriteEA         AccessMask = 0x00000010
	FileExecute         AccessMask = 0x00000020
	FileTraverse        AccessMask = 0x00000020
	FileDeleteChild     AccessMask = 0x00000040
	FileReadAttributes  AccessMask = 0x00000080
	FileWriteAttributes AccessMask = 0x00000100
	Delete              AccessMask = 0x00010000
	ReadControl         AccessMask = 0x00020000
	WriteDAC            AccessMask = 0x00040000
	WriteOwner          AccessMask = 0x00080000
	Synchronize         AccessMask = 0x00100000

	AccessSystemSecurity AccessMask = 0x01000000
	MaximumAllowed       AccessMask = 0x02000000
	GenericAll           AccessMask = 0x10000000
	GenericExecute       AccessMask = 0x20000000
	GenericWrite         AccessMask = 0x40000000
	GenericRead          AccessMask = 0x80000000
)

// The rights that the generic rights of a file stand for, and the set of all rights (MS-FSA 2.1.5.1).
const (
	FileGenericRead    = ReadControl | FileReadData | FileReadAttributes | FileReadEA | Synchronize
	FileGenericWrite   = ReadControl | FileWriteData | FileWriteAttributes | FileWriteEA | FileAppendData | Synchronize
	FileGenericExecute = ReadControl | FileReadAttributes | FileExecute | Synchronize
	FileAllAccess      = FileGenericRead | FileGenericWrite | FileGenericExecute | FileDeleteChild | Delete | WriteDAC | WriteOwner

	validAccess = FileAllAccess | AccessSystemSecurity | MaximumAllowed | GenericAll | GenericExecute | GenericWrite | GenericRead
)

// MapGeneric replaces the generic rights by the rights that they stand for on a file or directory.
func (a AccessMask) MapGeneric() AccessMask {
	m := a &^ (GenericAll | GenericExecute | GenericWrite | GenericRead)
	if a&GenericAll != 0 {
		m |= FileAllAccess
	}
	if a&GenericExecute != 0 {
		m |= FileGenericExecute
	}
	if a&GenericWrite != 0 {
		m |= FileGenericWrite
	}
	if a&GenericRead != 0 {
		m |= FileGenericRead
	}
	return m
}

// Valid reports whether the mask has at least one right, and only rights that exist.
func (a AccessMask) Valid() bool { return a != 0 && a&^validAccess == 0 }

// ShareAccess says what other opens may do (MS-SMB2 2.2.13).
type ShareAccess uint32

// Bits of ShareAccess.
const (
	FileShareRead   ShareAccess = 0x00000001
	FileShareWrite  ShareAccess = 0x00000002
	FileShareDelete ShareAccess = 0x00000004
)

// CreateDisposition says what to do if the file exists, and what if it does not (MS-SMB2 2.2.13).
type CreateDisposition uint32

// Create dispositions.
const (
	FileSupersede   CreateDisposition = 0 // replace the file, or create it
	FileOpen        CreateDisposition = 1 // open the file, or fail
	FileCreate      CreateDisposition = 2 // fail, or create
	FileOpenIf      CreateDisposition = 3 // open, or create
	FileOverwrite   CreateDisposition = 4 // overwrite, or fail
	FileOverwriteIf CreateDisposition = 5 // overwrite, or create
)

// CreateAction says what a CREATE did (MS-SMB2 2.2.14).
type CreateAction uint32

// Create actions.
const (
	FileSuperseded  CreateAction = 0
	FileOpened      CreateAction = 1
	FileCreated     CreateAction = 2
	FileOverwritten CreateAction = 3
)

// CreateOptions are options of CREATE (MS-SMB2 2.2.13).
type CreateOptions uint32

// Create options.
const (
	FileDirectoryFile           CreateOptions = 0x00000001
	FileWriteThrough            CreateOptions = 0x00000002
	FileSequentialOnly          CreateOptions = 0x00000004
	FileNoIntermediateBuffering CreateOptions = 0x00000008
	FileSynchronousIOAlert      CreateOptions = 0x00000010
	FileSynchronousIONonalert   CreateOptions = 0x00000020
	FileNonDirectoryFile        CreateOptions = 0x00000040
	FileCompleteIfOplocked      CreateOptions = 0x00000100
	FileNoEAKnowledge           CreateOptions = 0x00000200
	FileOpenRemoteInstance      CreateOptions = 0x00000400
	FileRandomAccess            CreateOptions = 0x00000800
	FileDeleteOnClose           CreateOptions = 0x00001000
	FileOpenByFileID            CreateOptions = 0x00002000
	FileOpenForBackupIntent     CreateOptions = 0x00004000
	FileNoCompression           CreateOptions = 0x00008000
	FileOpenRequiringOplock     CreateOptions = 0x00010000
	FileDisallowExclusive       CreateOptions = 0x00020000
	FileReserveOpfilter         CreateOptions = 0x00100000
	FileOpenReparsePoint        CreateOptions = 0x00200000
	FileOpenNoRecall            CreateOptions = 0x00400000
	FileOpenForFreeSpaceQuery   CreateOptions = 0x00800000
)

// FileAttributes are the attributes of DOS and NTFS (MS-FSCC 2.6).
type FileAttributes uint32

// File attributes.
const (
	FileAttributeReadonly           FileAttributes = 0x00000001
	FileAttributeHidden             FileAttributes = 0x00000002
	FileAttributeSystem             FileAttributes = 0x00000004
	FileAttributeDirectory          FileAttributes = 0x00000010
	FileAttributeArchive            FileAttributes = 0x00000020
	FileAttributeNormal             FileAttributes = 0x00000080
	FileAttributeTemporary          FileAttributes = 0x00000100
	FileAttributeSparseFile         FileAttributes = 0x00000200
	FileAttributeReparsePoint       FileAttributes = 0x00000400
	FileAttributeCompressed         FileAttributes = 0x00000800
	FileAttributeOffline            FileAttributes = 0x00001000
	FileAttributeNotContentIndexed  FileAttributes = 0x00002000
	FileAttributeEncrypted          FileAttributes = 0x00004000
	FileAttributeIntegrityStream    FileAttributes = 0x00008000
	FileAttributeNoScrubData        FileAttributes = 0x00020000
	FileAttributeRecallOnOpen       FileAttributes = 0x00040000
	FileAttributePinned             FileAttributes = 0x00080000
	FileAttributeUnpinned           FileAttributes = 0x00100000
	FileAttributeRecallOnDataAccess FileAttributes = 0x00400000

	// FileAttributesSettable are the attributes that a client can set by FileBasicInformation.
	FileAttributesSettable = FileAttributeReadonly | FileAttributeHidden | FileAttributeSystem | FileAttributeArchive |
		FileAttributeTemporary | FileAttributeOffline | FileAttributeNotContentIndexed
)
