package proto_test

import (
	"bytes"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

// TestNumbers compares numbers and names with those of another implementation, which was generated from the RFCs.
func TestNumbers(t *testing.T) {
	known := 0
	for code, name := range nfsv4.Nfsstat4_name {
		switch got := proto.Status(code).String(); got {
		case name:
			known++
		default:
			if len(got) < 8 || got[:8] != "nfsstat4" {
				t.Errorf("status %d is %s, theirs is %s", code, got, name)
			}
		}
	}
	if known < 100 {
		t.Errorf("%d statuses are known to both", known)
	}
	for ours, theirs := range map[proto.Op]nfsv4.NfsOpnum4{
		proto.OpAccess:             nfsv4.OP_ACCESS,
		proto.OpClose:              nfsv4.OP_CLOSE,
		proto.OpCommit:             nfsv4.OP_COMMIT,
		proto.OpCreate:             nfsv4.OP_CREATE,
		proto.OpDelegPurge:         nfsv4.OP_DELEGPURGE,
		proto.OpDelegReturn:        nfsv4.OP_DELEGRETURN,
		proto.OpGetAttr:            nfsv4.OP_GETATTR,
		proto.OpGetFH:              nfsv4.OP_GETFH,
		proto.OpLink:               nfsv4.OP_LINK,
		proto.OpLock:               nfsv4.OP_LOCK,
		proto.OpLockT:              nfsv4.OP_LOCKT,
		proto.OpLockU:              nfsv4.OP_LOCKU,
		proto.OpLookup:             nfsv4.OP_LOOKUP,
		proto.OpLookupP:            nfsv4.OP_LOOKUPP,
		proto.OpNVerify:            nfsv4.OP_NVERIFY,
		proto.OpOpen:               nfsv4.OP_OPEN,
		proto.OpOpenAttr:           nfsv4.OP_OPENATTR,
		proto.OpOpenConfirm:        nfsv4.OP_OPEN_CONFIRM,
		proto.OpOpenDowngrade:      nfsv4.OP_OPEN_DOWNGRADE,
		proto.OpPutFH:              nfsv4.OP_PUTFH,
		proto.OpPutPubFH:           nfsv4.OP_PUTPUBFH,
		proto.OpPutRootFH:          nfsv4.OP_PUTROOTFH,
		proto.OpRead:               nfsv4.OP_READ,
		proto.OpReadDir:            nfsv4.OP_READDIR,
		proto.OpReadlink:           nfsv4.OP_READLINK,
		proto.OpRemove:             nfsv4.OP_REMOVE,
		proto.OpRename:             nfsv4.OP_RENAME,
		proto.OpRenew:              nfsv4.OP_RENEW,
		proto.OpRestoreFH:          nfsv4.OP_RESTOREFH,
		proto.OpSaveFH:             nfsv4.OP_SAVEFH,
		proto.OpSecInfo:            nfsv4.OP_SECINFO,
		proto.OpSetAttr:            nfsv4.OP_SETATTR,
		proto.OpSetClientID:        nfsv4.OP_SETCLIENTID,
		proto.OpSetClientIDConfirm: nfsv4.OP_SETCLIENTID_CONFIRM,
		proto.OpVerify:             nfsv4.OP_VERIFY,
		proto.OpWrite:              nfsv4.OP_WRITE,
		proto.OpReleaseLockOwner:   nfsv4.OP_RELEASE_LOCKOWNER,
		proto.OpBackchannelCtl:     nfsv4.OP_BACKCHANNEL_CTL,
		proto.OpBindConnToSession:  nfsv4.OP_BIND_CONN_TO_SESSION,
		proto.OpExchangeID:         nfsv4.OP_EXCHANGE_ID,
		proto.OpCreateSession:      nfsv4.OP_CREATE_SESSION,
		proto.OpDestroySession:     nfsv4.OP_DESTROY_SESSION,
		proto.OpFreeStateID:        nfsv4.OP_FREE_STATEID,
		proto.OpGetDirDelegation:   nfsv4.OP_GET_DIR_DELEGATION,
		proto.OpGetDeviceInfo:      nfsv4.OP_GETDEVICEINFO,
		proto.OpGetDeviceList:      nfsv4.OP_GETDEVICELIST,
		proto.OpLayoutCommit:       nfsv4.OP_LAYOUTCOMMIT,
		proto.OpLayoutGet:          nfsv4.OP_LAYOUTGET,
		proto.OpLayoutReturn:       nfsv4.OP_LAYOUTRETURN,
		proto.OpSecInfoNoName:      nfsv4.OP_SECINFO_NO_NAME,
		proto.OpSequence:           nfsv4.OP_SEQUENCE,
		proto.OpSetSSV:             nfsv4.OP_SET_SSV,
		proto.OpTestStateID:        nfsv4.OP_TEST_STATEID,
		proto.OpWantDelegation:     nfsv4.OP_WANT_DELEGATION,
		proto.OpDestroyClientID:    nfsv4.OP_DESTROY_CLIENTID,
		proto.OpReclaimComplete:    nfsv4.OP_RECLAIM_COMPLETE,
		proto.OpAllocate:           nfsv4.OP_ALLOCATE,
		proto.OpCopy:               nfsv4.OP_COPY,
		proto.OpCopyNotify:         nfsv4.OP_COPY_NOTIFY,
		proto.OpDeallocate:         nfsv4.OP_DEALLOCATE,
		proto.OpIOAdvise:           nfsv4.OP_IO_ADVISE,
		proto.OpLayoutError:        nfsv4.OP_LAYOUTERROR,
		proto.OpLayoutStats:        nfsv4.OP_LAYOUTSTATS,
		proto.OpOffloadCancel:      nfsv4.OP_OFFLOAD_CANCEL,
		proto.OpOffloadStatus:      nfsv4.OP_OFFLOAD_STATUS,
		proto.OpReadPlus:           nfsv4.OP_READ_PLUS,
		proto.OpSeek:               nfsv4.OP_SEEK,
		proto.OpWriteSame:          nfsv4.OP_WRITE_SAME,
		proto.OpClone:              nfsv4.OP_CLONE,
		proto.OpIllegal:            nfsv4.OP_ILLEGAL,
	} {
		if int64(ours) != int64(theirs) {
			t.Errorf("%v is %d", theirs, ours)
		}
	}
	for ours, theirs := range map[int]int{
		proto.AttrSupportedAttrs:    nfsv4.FATTR4_SUPPORTED_ATTRS,
		proto.AttrType:              nfsv4.FATTR4_TYPE,
		proto.AttrFHExpireType:      nfsv4.FATTR4_FH_EXPIRE_TYPE,
		proto.AttrChange:            nfsv4.FATTR4_CHANGE,
		proto.AttrSize:              nfsv4.FATTR4_SIZE,
		proto.AttrLinkSupport:       nfsv4.FATTR4_LINK_SUPPORT,
		proto.AttrSymlinkSupport:    nfsv4.FATTR4_SYMLINK_SUPPORT,
		proto.AttrNamedAttr:         nfsv4.FATTR4_NAMED_ATTR,
		proto.AttrFSID:              nfsv4.FATTR4_FSID,
		proto.AttrUniqueHandles:     nfsv4.FATTR4_UNIQUE_HANDLES,
		proto.AttrLeaseTime:         nfsv4.FATTR4_LEASE_TIME,
		proto.AttrRdAttrError:       nfsv4.FATTR4_RDATTR_ERROR,
		proto.AttrACL:               nfsv4.FATTR4_ACL,
		proto.AttrACLSupport:        nfsv4.FATTR4_ACLSUPPORT,
		proto.AttrArchive:           nfsv4.FATTR4_ARCHIVE,
		proto.AttrCanSetTime:        nfsv4.FATTR4_CANSETTIME,
		proto.AttrCaseInsensitive:   nfsv4.FATTR4_CASE_INSENSITIVE,
		proto.AttrCasePreserving:    nfsv4.FATTR4_CASE_PRESERVING,
		proto.AttrChownRestricted:   nfsv4.FATTR4_CHOWN_RESTRICTED,
		proto.AttrFileHandle:        nfsv4.FATTR4_FILEHANDLE,
		proto.AttrFileID:            nfsv4.FATTR4_FILEID,
		proto.AttrFilesAvail:        nfsv4.FATTR4_FILES_AVAIL,
		proto.AttrFilesFree:         nfsv4.FATTR4_FILES_FREE,
		proto.AttrFilesTotal:        nfsv4.FATTR4_FILES_TOTAL,
		proto.AttrFSLocations:       nfsv4.FATTR4_FS_LOCATIONS,
		proto.AttrHidden:            nfsv4.FATTR4_HIDDEN,
		proto.AttrHomogeneous:       nfsv4.FATTR4_HOMOGENEOUS,
		proto.AttrMaxFileSize:       nfsv4.FATTR4_MAXFILESIZE,
		proto.AttrMaxLink:           nfsv4.FATTR4_MAXLINK,
		proto.AttrMaxName:           nfsv4.FATTR4_MAXNAME,
		proto.AttrMaxRead:           nfsv4.FATTR4_MAXREAD,
		proto.AttrMaxWrite:          nfsv4.FATTR4_MAXWRITE,
		proto.AttrMIMEType:          nfsv4.FATTR4_MIMETYPE,
		proto.AttrMode:              nfsv4.FATTR4_MODE,
		proto.AttrNoTrunc:           nfsv4.FATTR4_NO_TRUNC,
		proto.AttrNumLinks:          nfsv4.FATTR4_NUMLINKS,
		proto.AttrOwner:             nfsv4.FATTR4_OWNER,
		proto.AttrOwnerGroup:        nfsv4.FATTR4_OWNER_GROUP,
		proto.AttrQuotaAvailHard:    nfsv4.FATTR4_QUOTA_AVAIL_HARD,
		proto.AttrQuotaAvailSoft:    nfsv4.FATTR4_QUOTA_AVAIL_SOFT,
		proto.AttrQuotaUsed:         nfsv4.FATTR4_QUOTA_USED,
		proto.AttrRawDev:            nfsv4.FATTR4_RAWDEV,
		proto.AttrSpaceAvail:        nfsv4.FATTR4_SPACE_AVAIL,
		proto.AttrSpaceFree:         nfsv4.FATTR4_SPACE_FREE,
		proto.AttrSpaceTotal:        nfsv4.FATTR4_SPACE_TOTAL,
		proto.AttrSpaceUsed:         nfsv4.FATTR4_SPACE_USED,
		proto.AttrSystem:            nfsv4.FATTR4_SYSTEM,
		proto.AttrTimeAccess:        nfsv4.FATTR4_TIME_ACCESS,
		proto.AttrTimeAccessSet:     nfsv4.FATTR4_TIME_ACCESS_SET,
		proto.AttrTimeBackup:        nfsv4.FATTR4_TIME_BACKUP,
		proto.AttrTimeCreate:        nfsv4.FATTR4_TIME_CREATE,
		proto.AttrTimeDelta:         nfsv4.FATTR4_TIME_DELTA,
		proto.AttrTimeMetadata:      nfsv4.FATTR4_TIME_METADATA,
		proto.AttrTimeModify:        nfsv4.FATTR4_TIME_MODIFY,
		proto.AttrTimeModifySet:     nfsv4.FATTR4_TIME_MODIFY_SET,
		proto.AttrMountedOnFileID:   nfsv4.FATTR4_MOUNTED_ON_FILEID,
		proto.AttrDirNotifDelay:     nfsv4.FATTR4_DIR_NOTIF_DELAY,
		proto.AttrDirentNotifDelay:  nfsv4.FATTR4_DIRENT_NOTIF_DELAY,
		proto.AttrDACL:              nfsv4.FATTR4_DACL,
		proto.AttrSACL:              nfsv4.FATTR4_SACL,
		proto.AttrChangePolicy:      nfsv4.FATTR4_CHANGE_POLICY,
		proto.AttrFSStatus:          nfsv4.FATTR4_FS_STATUS,
		proto.AttrFSLayoutTypes:     nfsv4.FATTR4_FS_LAYOUT_TYPES,
		proto.AttrLayoutHint:        nfsv4.FATTR4_LAYOUT_HINT,
		proto.AttrLayoutTypes:       nfsv4.FATTR4_LAYOUT_TYPES,
		proto.AttrLayoutBlksize:     nfsv4.FATTR4_LAYOUT_BLKSIZE,
		proto.AttrLayoutAlignment:   nfsv4.FATTR4_LAYOUT_ALIGNMENT,
		proto.AttrFSLocationsInfo:   nfsv4.FATTR4_FS_LOCATIONS_INFO,
		proto.AttrMDSThreshold:      nfsv4.FATTR4_MDSTHRESHOLD,
		proto.AttrRetentionGet:      nfsv4.FATTR4_RETENTION_GET,
		proto.AttrRetentionSet:      nfsv4.FATTR4_RETENTION_SET,
		proto.AttrRetentevtGet:      nfsv4.FATTR4_RETENTEVT_GET,
		proto.AttrRetentevtSet:      nfsv4.FATTR4_RETENTEVT_SET,
		proto.AttrRetentionHold:     nfsv4.FATTR4_RETENTION_HOLD,
		proto.AttrModeSetMasked:     nfsv4.FATTR4_MODE_SET_MASKED,
		proto.AttrSuppAttrExclCreat: nfsv4.FATTR4_SUPPATTR_EXCLCREAT,
		proto.AttrFSCharsetCap:      nfsv4.FATTR4_FS_CHARSET_CAP,
		proto.AttrCloneBlksize:      nfsv4.FATTR4_CLONE_BLKSIZE,
		proto.AttrSpaceFreed:        nfsv4.FATTR4_SPACE_FREED,
		proto.AttrChangeAttrType:    nfsv4.FATTR4_CHANGE_ATTR_TYPE,
		proto.AttrSecLabel:          nfsv4.FATTR4_SEC_LABEL,
	} {
		if ours != theirs {
			t.Errorf("attribute %d of ours is %d of theirs", ours, theirs)
		}
	}
}

// FuzzDecode: what is decoded without an error and encoded again is decoded to the same, and no longer than what it came from.
func FuzzDecode(f *testing.F) {
	s, m := proto.StateID{Seq: 7, Other: proto.Other{1, 11: 2}}, proto.Bits(0, 40, 82)
	a := proto.ChannelAttrs{MaxRequest: 1 << 20, MaxOps: 8, MaxRequests: 64, IRD: []uint32{5}}
	f.Add(s.Append(nil))
	f.Add(m.Append(nil))
	f.Add(a.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		check := func(what string, decode func(*xdr.Decoder) []byte) {
			d := xdr.NewDecoder(b)
			first := decode(&d)
			if d.Err() != nil {
				return
			}
			if used := len(b) - len(d.Rest()); len(first) > used {
				t.Errorf("%s of %d bytes becomes %d", what, used, len(first))
			}
			again := xdr.NewDecoder(first)
			if second := decode(&again); again.Finish() != nil || !bytes.Equal(first, second) {
				t.Errorf("%s %x becomes %x: %v", what, first, second, again.Err())
			}
		}
		check("stateid", func(d *xdr.Decoder) []byte { s := proto.DecodeStateID(d); return s.Append(nil) })
		check("bitmap", func(d *xdr.Decoder) []byte { m, _ := proto.DecodeBitmap(d); return m.Append(nil) })
		check("channel", func(d *xdr.Decoder) []byte { a := proto.DecodeChannelAttrs(d); return a.Append(nil) })
	})
}
