package vfs

// Identity says which object a Node is. It is the same if the object is reached by another name, by its handle, or
// through another FS that publishes the same directory or a part of it. It is comparable. The zero Identity is that
// of no object.
//
// It is valid while a Node or File of the object is open: after that, another object may get the same number. To
// name an object for longer, use its [Handle].
type Identity struct {
	FS     [16]byte // the file system that stores the object, whatever directory of it is published
	Object uint64   // the object's number there
}
