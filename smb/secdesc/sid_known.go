package secdesc

// Identifier authorities (MS-DTYP 2.4.1.1), and that of Unix users and groups without a domain, as Samba made it common.
const (
	authorityWorld   = 1
	authorityCreator = 3
	authorityNT      = 5
	authorityUnix    = 22
)

// Well-known SIDs (MS-DTYP 2.4.2.4).
var (
	Nobody             = NewSID(0, 0)
	Everyone           = NewSID(authorityWorld, 0)
	CreatorOwner       = NewSID(authorityCreator, 0)
	CreatorGroup       = NewSID(authorityCreator, 1)
	OwnerRights        = NewSID(authorityCreator, 4)
	Network            = NewSID(authorityNT, 2)
	Anonymous          = NewSID(authorityNT, 7)
	AuthenticatedUsers = NewSID(authorityNT, 11)
	LocalSystem        = NewSID(authorityNT, 18)
	Administrators     = NewSID(authorityNT, 32, 544)
	Users              = NewSID(authorityNT, 32, 545)
	Guests             = NewSID(authorityNT, 32, 546)
)

// nfsSID is the subauthority of SIDs that carry numbers of POSIX: S-1-5-88-kind-number.
const nfsSID = 88

// Kinds of S-1-5-88.
const (
	nfsUser  = 1
	nfsGroup = 2
	nfsMode  = 3
)

// UnixUser is the SID of a user id: S-1-22-1-uid.
func UnixUser(uid uint32) SID { return NewSID(authorityUnix, 1, uid) }

// UnixGroup is the SID of a group id: S-1-22-2-gid.
func UnixGroup(gid uint32) SID { return NewSID(authorityUnix, 2, gid) }

// NFSMode is the SID that carries a mode: S-1-5-88-3-mode. Linux' cifs with modefromsid sends it.
func NFSMode(mode uint32) SID { return NewSID(authorityNT, nfsSID, nfsMode, mode) }

// UID is the user id that the SID stands for: S-1-22-1-uid or S-1-5-88-1-uid.
func (s SID) UID() (uid uint32, ok bool) {
	if uid, ok = s.under(authorityUnix, 1); !ok {
		uid, ok = s.under(authorityNT, nfsSID, nfsUser)
	}
	return uid, ok
}

// GID is the group id that the SID stands for: S-1-22-2-gid or S-1-5-88-2-gid.
func (s SID) GID() (gid uint32, ok bool) {
	if gid, ok = s.under(authorityUnix, 2); !ok {
		gid, ok = s.under(authorityNT, nfsSID, nfsGroup)
	}
	return gid, ok
}

// Mode is the mode that the SID carries: S-1-5-88-3-mode.
func (s SID) Mode() (mode uint32, ok bool) {
	mode, ok = s.under(authorityNT, nfsSID, nfsMode)
	return mode & 07777, ok
}
