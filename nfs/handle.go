package nfs

import (
	"encoding/binary"

	"fileserver/vfs"
)

// MaxHandle is the longest file handle on the wire, bytes: within NFSv3's 64.
const MaxHandle = 4 + vfs.MaxHandle

// AppendHandle appends the wire form of the handle of an object: the export's ID and the file system's handle.
func AppendHandle(b []byte, e *Export, h vfs.Handle) []byte {
	return h.Append(binary.BigEndian.AppendUint32(b, e.ID))
}

// ParseHandle takes a wire handle apart; ok is false if it cannot be one of ours.
func ParseHandle(b []byte) (export uint32, h vfs.Handle, ok bool) {
	if len(b) <= 4 || len(b) > MaxHandle {
		return 0, h, false
	}
	h, ok = vfs.HandleFrom(b[4:])
	return binary.BigEndian.Uint32(b), h, ok
}
