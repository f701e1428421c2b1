package vfs

// Identity says which object a Node is, however it was reached: through another FS that publishes the same directory
// or a part of it, by another name, or by its handle. It is comparable. The zero Identity is no object's.
//
// It holds as long as somebody has the Node or a File of it: the number of an object that is gone may become another's.
// What must outlast that is a [Handle]'s to name.
type Identity struct {
	FS     [16]byte // the file system that stores the object, whatever directory of it is published
	Object uint64   // the object's number there
}
