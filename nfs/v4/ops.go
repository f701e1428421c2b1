package v4

import "fileserver/nfs/v4/proto"

// flags say what an operation is, and what it needs before it runs.
type flags uint16

const (
	sequence    flags = 1 << iota // SEQUENCE: first, and only first
	sessionless                   // may be the first, and then is the only one (RFC 8881 2.10.6.4)
	alone                         // is the only one always
	needCurrent                   // the current filehandle
	needSaved                     // the saved filehandle
	mutates                       // is refused on read-only exports and in the pseudo file system
	brief                         // its time is part of the next operation's, as it takes none to speak of
)

// opInfo is a row of the table of operations.
type opInfo struct {
	name  string
	first uint32 // minor version in which it appears
	flags flags
	// run decodes the arguments, executes the operation and appends its results. Nil: known, but not supported.
	run func(*compound) proto.Status
	// room is the most bytes the results take, for operations that must not have
	// been executed when the reply turns out to be too long for the session.
	room int
}

func (o *opInfo) has(f flags) bool { return o.flags&f != 0 }

// Room for results.
const (
	roomStateID = 16
	roomChange  = 20 // change_info4
	roomBitmap  = 16
)

var ops [proto.MaxOp + 1]opInfo

func init() {
	ops = [...]opInfo{
		proto.OpAccess:        {"ACCESS", 1, needCurrent, (*compound).access, 0},
		proto.OpClose:         {"CLOSE", 1, needCurrent, (*compound).close, roomStateID},
		proto.OpCommit:        {"COMMIT", 1, needCurrent, (*compound).commit, 0},
		proto.OpCreate:        {"CREATE", 1, needCurrent | mutates, (*compound).create, roomChange + roomBitmap},
		proto.OpDelegPurge:    {"DELEGPURGE", 1, 0, nil, 0},
		proto.OpDelegReturn:   {"DELEGRETURN", 1, needCurrent, nil, 0},
		proto.OpGetAttr:       {"GETATTR", 1, needCurrent, (*compound).getAttr, 0},
		proto.OpGetFH:         {"GETFH", 1, needCurrent | brief, (*compound).getFH, 0},
		proto.OpLink:          {"LINK", 1, needCurrent | needSaved | mutates, (*compound).link, roomChange},
		proto.OpLock:          {"LOCK", 1, needCurrent, (*compound).lock, roomStateID},
		proto.OpLockT:         {"LOCKT", 1, needCurrent, (*compound).lockT, 0},
		proto.OpLockU:         {"LOCKU", 1, needCurrent, (*compound).lockU, roomStateID},
		proto.OpLookup:        {"LOOKUP", 1, needCurrent, (*compound).lookup, 0},
		proto.OpLookupP:       {"LOOKUPP", 1, needCurrent, (*compound).lookupP, 0},
		proto.OpNVerify:       {"NVERIFY", 1, needCurrent, (*compound).nverify, 0},
		proto.OpOpen:          {"OPEN", 1, needCurrent, (*compound).open, roomStateID + roomChange + roomBitmap + 16},
		proto.OpOpenAttr:      {"OPENATTR", 1, needCurrent, nil, 0},
		proto.OpOpenConfirm:   {"OPEN_CONFIRM", 1, 0, nil, 0},
		proto.OpOpenDowngrade: {"OPEN_DOWNGRADE", 1, needCurrent, (*compound).openDowngrade, roomStateID},
		proto.OpPutFH:         {"PUTFH", 1, brief, (*compound).putFH, 0},
		proto.OpPutPubFH:      {"PUTPUBFH", 1, brief, (*compound).putRootFH, 0},
		proto.OpPutRootFH:     {"PUTROOTFH", 1, brief, (*compound).putRootFH, 0},
		proto.OpRead:          {"READ", 1, needCurrent, (*compound).read, 0},
		proto.OpReadDir:       {"READDIR", 1, needCurrent, (*compound).readDir, 0},
		proto.OpReadlink:      {"READLINK", 1, needCurrent, (*compound).readlink, 0},
		proto.OpRemove:        {"REMOVE", 1, needCurrent | mutates, (*compound).remove, roomChange},
		proto.OpRename:        {"RENAME", 1, needCurrent | needSaved | mutates, (*compound).rename, 2 * roomChange},
		proto.OpRenew:         {"RENEW", 1, 0, nil, 0},
		proto.OpRestoreFH:     {"RESTOREFH", 1, brief, (*compound).restoreFH, 0},
		proto.OpSaveFH:        {"SAVEFH", 1, needCurrent | brief, (*compound).saveFH, 0},
		proto.OpSecInfo:       {"SECINFO", 1, needCurrent, (*compound).secInfo, 0},
		proto.OpSetAttr:       {"SETATTR", 1, needCurrent | mutates, (*compound).setAttr, roomBitmap},
		proto.OpSetClientID:   {"SETCLIENTID", 1, 0, nil, 0},

		proto.OpSetClientIDConfirm: {"SETCLIENTID_CONFIRM", 1, 0, nil, 0},
		proto.OpVerify:             {"VERIFY", 1, needCurrent, (*compound).verify, 0},
		proto.OpWrite:              {"WRITE", 1, needCurrent | mutates, (*compound).write, 16},
		proto.OpReleaseLockOwner:   {"RELEASE_LOCKOWNER", 1, 0, nil, 0},

		proto.OpBackchannelCtl:    {"BACKCHANNEL_CTL", 1, 0, (*compound).backchannelCtl, 0},
		proto.OpBindConnToSession: {"BIND_CONN_TO_SESSION", 1, sessionless | alone, (*compound).bindConnToSession, 0},
		proto.OpExchangeID:        {"EXCHANGE_ID", 1, sessionless, (*compound).exchangeID, 0},
		proto.OpCreateSession:     {"CREATE_SESSION", 1, sessionless, (*compound).createSession, 0},
		proto.OpDestroySession:    {"DESTROY_SESSION", 1, sessionless, (*compound).destroySession, 0},
		proto.OpFreeStateID:       {"FREE_STATEID", 1, 0, (*compound).freeStateID, 0},
		proto.OpGetDirDelegation:  {"GET_DIR_DELEGATION", 1, needCurrent, nil, 0},
		proto.OpGetDeviceInfo:     {"GETDEVICEINFO", 1, 0, nil, 0},
		proto.OpGetDeviceList:     {"GETDEVICELIST", 1, needCurrent, nil, 0},
		proto.OpLayoutCommit:      {"LAYOUTCOMMIT", 1, needCurrent, nil, 0},
		proto.OpLayoutGet:         {"LAYOUTGET", 1, needCurrent, nil, 0},
		proto.OpLayoutReturn:      {"LAYOUTRETURN", 1, 0, nil, 0},
		proto.OpSecInfoNoName:     {"SECINFO_NO_NAME", 1, needCurrent, (*compound).secInfoNoName, 0},
		proto.OpSequence:          {"SEQUENCE", 1, sequence | brief, (*compound).sequence, 0},
		proto.OpSetSSV:            {"SET_SSV", 1, 0, nil, 0},
		proto.OpTestStateID:       {"TEST_STATEID", 1, 0, (*compound).testStateID, 0},
		proto.OpWantDelegation:    {"WANT_DELEGATION", 1, needCurrent, nil, 0},
		proto.OpDestroyClientID:   {"DESTROY_CLIENTID", 1, sessionless, (*compound).destroyClientID, 0},
		proto.OpReclaimComplete:   {"RECLAIM_COMPLETE", 1, 0, (*compound).reclaimComplete, 0},

		proto.OpAllocate:      {"ALLOCATE", 2, needCurrent | mutates, (*compound).allocate, 0},
		proto.OpCopy:          {"COPY", 2, needCurrent | needSaved | mutates, (*compound).copy, 40},
		proto.OpCopyNotify:    {"COPY_NOTIFY", 2, needCurrent, nil, 0},
		proto.OpDeallocate:    {"DEALLOCATE", 2, needCurrent | mutates, (*compound).deallocate, 0},
		proto.OpIOAdvise:      {"IO_ADVISE", 2, needCurrent, (*compound).ioAdvise, 0},
		proto.OpLayoutError:   {"LAYOUTERROR", 2, needCurrent, nil, 0},
		proto.OpLayoutStats:   {"LAYOUTSTATS", 2, needCurrent, nil, 0},
		proto.OpOffloadCancel: {"OFFLOAD_CANCEL", 2, needCurrent, nil, 0},
		proto.OpOffloadStatus: {"OFFLOAD_STATUS", 2, needCurrent, nil, 0},
		proto.OpReadPlus:      {"READ_PLUS", 2, needCurrent, (*compound).readPlus, 0},
		proto.OpSeek:          {"SEEK", 2, needCurrent, (*compound).seek, 0},
		proto.OpWriteSame:     {"WRITE_SAME", 2, needCurrent, nil, 0},
		proto.OpClone:         {"CLONE", 2, needCurrent | needSaved | mutates, (*compound).clone, 0},
		proto.OpGetXattr:      {"GETXATTR", 2, needCurrent, (*compound).getXattr, 0},
		proto.OpSetXattr:      {"SETXATTR", 2, needCurrent | mutates, (*compound).setXattr, roomChange},
		proto.OpListXattrs:    {"LISTXATTRS", 2, needCurrent, (*compound).listXattrs, 0},
		proto.OpRemoveXattr:   {"REMOVEXATTR", 2, needCurrent | mutates, (*compound).removeXattr, roomChange},
	}
}

// info finds an operation; nil if the minor version has none of that number.
func (c *compound) info(op proto.Op) *opInfo {
	if op > proto.MaxOp {
		return nil
	}
	o := &ops[op]
	if o.name == "" || o.first > c.minor {
		return nil
	}
	return o
}
