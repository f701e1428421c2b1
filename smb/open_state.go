package smb

import (
	"sync/atomic"

	"fileserver/vfs"
)

// openState is what the commands on data and information keep of an open.
type openState struct {
	posix bool // the client uses the POSIX extensions with it; does not change
	// replaced is what has taken the place of the open's node: FSCTL_SET_REPARSE_POINT makes another object of it.
	replaced atomic.Pointer[vfs.Node]
	search   search
	ranges   ranges
	changes  changes                  // of a directory, to be told
	position atomic.Uint64            // CurrentByteOffset of FilePositionInformation: as set (MS-FSA 2.1.5.15.10), or where the last READ or WRITE ended
	frozen   atomic.Pointer[vfs.Time] // the time of the last write, which writes do not change; nil: they do
	// writeThrough: FileModeInformation has asked for it.
	writeThrough atomic.Bool
	eaIndex      atomic.Uint32 // where the next QUERY_INFO of FileFullEaInformation goes on
}

// endState gives up what the open has locked, and ends what waits for locks or changes.
func (o *Open) endState() {
	o.unlockAll()
	if o.dir {
		o.changes.close()
	}
}

// object is what the open is of now: its node, unless that has been replaced.
func (o *Open) object() vfs.Node {
	if n := o.replaced.Load(); n != nil {
		return *n
	}
	return o.node
}

// releaseState lets go of what is kept until nobody uses the open any more.
func (o *Open) releaseState() {
	if n := o.replaced.Load(); n != nil {
		(*n).Release()
	}
}
