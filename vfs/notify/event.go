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

// NameOf is the aspect that the name of an object of the kind is.
func NameOf(k vfs.Kind) What {
	if k == vfs.KindDirectory {
		return DirName
	}
	return FileName
}

// Set tells what a SetAttr changes.
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

// Action says what has happened to a name. Its values are those of FILE_NOTIFY_INFORMATION (MS-FSCC 2.7.1), but for the last two.
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

	// Gone: the watched directory itself is deleted, or about to be.
	Gone
	// Lost: there have been events that nobody can tell any more.
	Lost
)

// Event is what a watcher is told.
type Event struct {
	Action Action
	Name   string // as on disk, relative to the watched directory, with "/" between elements
	Stream string // of actions on streams: which of the object
}

// Change is what has happened to a name of a directory.
type Change struct {
	Dir  vfs.Node // the directory
	Path string   // of it from the share's root, if the reporter knows it: only a hint
	Name string
	// Stream is the object's stream, of actions on them.
	Stream string
	// Action, to be told to those who watch for any of What; those who do not, but for any of Else, are told that it is [Modified].
	Action     Action
	What, Else What
}
