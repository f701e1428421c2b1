package wire

// FsctlCode is a file system control code (MS-FSCC 2.3, MS-SMB2 2.2.31).
type FsctlCode uint32

// ReparseTagSymlink is IO_REPARSE_TAG_SYMLINK (MS-FSCC 2.1.2.1).
const ReparseTagSymlink uint32 = 0xa000000c
