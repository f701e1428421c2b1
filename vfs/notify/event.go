package notify

import "fileserver/vfs"

// What is a set of aspects of an object that change. Its bits are those of a CompletionFilter (MS-SMB2 2.2.35).
type What uint32

// Aspects.
const (
	FileName What = 1 << iota
	DirName
	Attributes
	Size
	LastWrite
	LastAccess
	Creation
	Xattrs
	Security
	StreamName
	StreamSize
	StreamWrite

	// Names are both kinds of names.
	Names = FileName | DirName
)

// NameOf returns the aspect for the name of an object of this kind: [DirName] or [FileName].
func NameOf(k vfs.Kind) What {
	if k == vfs.KindDirectory {
		return DirName
	}
	return FileName
}

// Set returns the aspects that a SetAttr with the mask changes.
func Set(m vfs.AttrMask) (w What) {
	for _, x := range [...]struct {
		mask vfs.AttrMask
		what What
	}{
		{vfs.AttrMode | vfs.AttrUID | vfs.AttrGID, Security}, {vfs.AttrSize, Size | LastWrite}, {vfs.AttrAtime, LastAccess}, {vfs.AttrMtime, LastWrite}, {vfs.AttrBtime, Creation},
	} {
		if m&x.mask != 0 {
			w |= x.what
		}
	}
	return w
}

// Action says what has happened to a name. All values but the last two are those of FILE_NOTIFY_INFORMATION
// (MS-FSCC 2.7.1).
type Action uint32

// Actions.
const (
	Added Action = 1 + iota
	Removed
	Modified
	RenamedOld // [RenamedNew] of the same object follows at once
	RenamedNew
	AddedStream
	RemovedStream
	ModifiedStream

	// Gone reports that the watched directory itself is deleted or about to be deleted.
	Gone
	// Lost reports that events were dropped.
	Lost
)

// Event is one change as a watcher gets it.
type Event struct {
	Action Action
	Name   string // as on disk, relative to the watched directory, with "/" between elements
	Stream string // the name of the object's stream, for actions on streams
}

// Change is a change of a name in a directory.
type Change struct {
	Dir  vfs.Node // the directory
	Path string   // its path from the share's root if the reporter knows it; only a hint
	Name string
	// Stream is the name of the object's stream, for actions on streams.
	Stream string
	// Action is reported to the watches of any of What. Watches of none of What but any of Else get [Modified]
	// instead.
	Action     Action
	What, Else What
}
