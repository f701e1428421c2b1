package wire

import "fmt"

// Status is an NTSTATUS (MS-ERREF 2.3). It implements error; StatusSuccess is not one.
type Status uint32

// Statuses that the server returns.
const (
	StatusSuccess                Status = 0x00000000
	StatusPending                Status = 0x00000103
	StatusNoneMapped             Status = 0xC0000073
	StatusNotifyCleanup          Status = 0x0000010B
	StatusNotifyEnumDir          Status = 0x0000010C
	StatusBufferOverflow         Status = 0x80000005
	StatusNoMoreFiles            Status = 0x80000006
	StatusStoppedOnSymlink       Status = 0x8000002D
	StatusUnsuccessful           Status = 0xC0000001
	StatusNotImplemented         Status = 0xC0000002
	StatusInvalidInfoClass       Status = 0xC0000003
	StatusInfoLengthMismatch     Status = 0xC0000004
	StatusInvalidHandle          Status = 0xC0000008
	StatusInvalidParameter       Status = 0xC000000D
	StatusNoSuchDevice           Status = 0xC000000E
	StatusNoSuchFile             Status = 0xC000000F
	StatusInvalidDeviceRequest   Status = 0xC0000010
	StatusEndOfFile              Status = 0xC0000011
	StatusMoreProcessingRequired Status = 0xC0000016
	StatusNoMemory               Status = 0xC0000017
	StatusAccessDenied           Status = 0xC0000022
	StatusBufferTooSmall         Status = 0xC0000023
	StatusObjectNameInvalid      Status = 0xC0000033
	StatusObjectNameNotFound     Status = 0xC0000034
	StatusObjectNameCollision    Status = 0xC0000035
	StatusObjectPathInvalid      Status = 0xC0000039
	StatusObjectPathNotFound     Status = 0xC000003A
	StatusObjectPathSyntaxBad    Status = 0xC000003B
	StatusDataError              Status = 0xC000003E
	StatusSharingViolation       Status = 0xC0000043
	StatusEAsNotSupported        Status = 0xC000004F
	StatusEATooLarge             Status = 0xC0000050
	StatusNonexistentEAEntry     Status = 0xC0000051
	StatusNoEAsOnFile            Status = 0xC0000052
	StatusFileLockConflict       Status = 0xC0000054
	StatusLockNotGranted         Status = 0xC0000055
	StatusDeletePending          Status = 0xC0000056
	StatusPrivilegeNotHeld       Status = 0xC0000061
	StatusLogonFailure           Status = 0xC000006D
	StatusAccountRestriction     Status = 0xC000006E
	StatusPasswordExpired        Status = 0xC0000071
	StatusAccountDisabled        Status = 0xC0000072
	StatusRangeNotLocked         Status = 0xC000007E
	StatusDiskFull               Status = 0xC000007F
	StatusInsufficientResources  Status = 0xC000009A
	StatusMediaWriteProtected    Status = 0xC00000A2
	StatusBadImpersonationLevel  Status = 0xC00000A5
	StatusIOTimeout              Status = 0xC00000B5
	StatusFileIsADirectory       Status = 0xC00000BA
	StatusNotSupported           Status = 0xC00000BB
	StatusNetworkNameDeleted     Status = 0xC00000C9
	StatusNetworkAccessDenied    Status = 0xC00000CA
	StatusBadNetworkName         Status = 0xC00000CC
	StatusRequestNotAccepted     Status = 0xC00000D0
	StatusRequestOutOfSequence   Status = 0xC000042A
	StatusNotSameDevice          Status = 0xC00000D4
	StatusInternalError          Status = 0xC00000E5
	StatusUnexpectedIOError      Status = 0xC00000E9
	StatusDirectoryNotEmpty      Status = 0xC0000101
	StatusNotADirectory          Status = 0xC0000103
	StatusNameTooLong            Status = 0xC0000106
	StatusTooManyOpenedFiles     Status = 0xC000011F
	StatusCancelled              Status = 0xC0000120
	StatusCannotDelete           Status = 0xC0000121
	StatusFileDeleted            Status = 0xC0000123
	StatusFileClosed             Status = 0xC0000128
	StatusInvalidDeviceState     Status = 0xC0000184
	StatusIOReparseTagNotHandled Status = 0xC0000279
	StatusNotAReparsePoint       Status = 0xC0000275
	StatusNotFound               Status = 0xC0000225
	StatusUserSessionDeleted     Status = 0xC0000203
	StatusTooManyLinks           Status = 0xC0000265
	StatusNetworkSessionExpired  Status = 0xC000035C
	StatusInvalidOplockProtocol  Status = 0xC00000E3
	StatusInvalidLockRange       Status = 0xC00001A1
	StatusFSDriverRequired       Status = 0xC000019C
	StatusSMBNoPreauthOverlap    Status = 0xC05D0000 // STATUS_SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP
	StatusHashNotPresent         Status = 0xC000A101
	StatusServerUnavailable      Status = 0xC0000466
	StatusFileNotAvailable       Status = 0xC0000467
	StatusDuplicateObjectID      Status = 0xC000022A
	StatusNoMoreEAs              Status = 0x80000012
	StatusInvalidEAName          Status = 0x80000013
	StatusEAListInconsistent     Status = 0x80000014
	StatusInvalidEAFlag          Status = 0x80000015
	StatusInvalidOwner           Status = 0xC000005A
	StatusInvalidPrimaryGroup    Status = 0xC000005B
	StatusAccountLockedOut       Status = 0xC0000234
	StatusRevisionMismatch       Status = 0xC0000059
	StatusInvalidACL             Status = 0xC0000077
	StatusInvalidSID             Status = 0xC0000078
	StatusInvalidSecurityDescr   Status = 0xC0000079
	StatusInvalidViewSize        Status = 0xC000001F
	StatusPipeDisconnected       Status = 0xC00000B0
	StatusPipeEmpty              Status = 0xC00000D9
	StatusPipeBusy               Status = 0xC00000AE
	StatusInstanceNotAvailable   Status = 0xC00000AB
	StatusQuotaExceeded          Status = 0xC0000044
	StatusIOReparseDataInvalid   Status = 0xC0000278
	StatusIOReparseTagInvalid    Status = 0xC0000276
	StatusIOReparseTagMismatch   Status = 0xC0000277
	StatusOffloadReadNotSupp     Status = 0xC000A2A3
	StatusBadCompressionBuffer   Status = 0xC0000242
	StatusVolumeDismounted       Status = 0xC000026E
	StatusOplockNotGranted       Status = 0xC00000E2
)

// Failed reports whether the status is an error or a warning.
func (s Status) Failed() bool { return s >= 0x80000000 }

// String returns the specification's name of the status, or its number if this package has no name for it.
func (s Status) String() string {
	if name, ok := statusNames[s]; ok {
		return name
	}
	return fmt.Sprintf("NTSTATUS %#08x", uint32(s))
}

// Error implements error.
func (s Status) Error() string { return s.String() }
