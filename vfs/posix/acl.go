package posix

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// Access control lists as the kernel encodes them (acl(5), extended attribute system.posix_acl_access).
const (
	aclName    = "system.posix_acl_access"
	aclVersion = 2

	aclUserObj  = 0x01
	aclUser     = 0x02
	aclGroupObj = 0x04
	aclGroup    = 0x08
	aclMask     = 0x10
	aclOther    = 0x20
)

// aclRights returns which of the wanted permissions a list gives to c, which does not own the object. ok is false
// if there is no list. It follows the access check algorithm of acl(5).
func aclRights(list []byte, c *vfs.Cred, group uint32, want uint8) (rights uint8, ok bool) {
	if len(list) < 4 || len(list)%8 != 4 || binary.LittleEndian.Uint32(list) != aclVersion {
		return 0, false
	}
	mask := uint8(7)
	var user, groups, other uint8
	var isUser, inGroup bool
	for e := list[4:]; len(e) > 0; e = e[8:] {
		perm := uint8(binary.LittleEndian.Uint16(e[2:])) & 7
		id := binary.LittleEndian.Uint32(e[4:])
		switch binary.LittleEndian.Uint16(e) {
		case aclUser:
			if id == c.UID {
				user, isUser = perm, true
			}
		case aclGroupObj, aclGroup:
			if binary.LittleEndian.Uint16(e) == aclGroupObj {
				id = group
			}
			if c.InGroup(id) {
				groups, inGroup = groups|perm, true
			}
		case aclMask:
			mask = perm
		case aclOther:
			other = perm
		}
	}
	switch {
	case isUser:
		return user & mask & want, true
	case inGroup:
		return groups & mask & want, true
	}
	return other & want, true
}

// readACL reads the list of the object; it is empty if there is none.
func (n *node) readACL() ([]byte, error) {
	var path, name cname
	path.setFD(n.fd)
	name.set(aclName)
	switch getxattrSize(&path, &name) { // almost always there is no list
	case unix.ENODATA, unix.EOPNOTSUPP:
		return nil, nil
	}
	list := make([]byte, maxXattr)
	l, err := unix.Getxattr(path.String(), aclName, list)
	switch err {
	case nil:
		return list[:l], nil
	case unix.ENODATA, unix.EOPNOTSUPP:
		return nil, nil
	}
	return nil, statusOf(err)
}
