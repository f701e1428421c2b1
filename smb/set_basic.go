package smb

import (
	"context"
	"math"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// root is the identity for operations whose rights an open has already checked, but for which a file system would ask
// for the file's owner.
var root = &vfs.Cred{}

// setBasic sets times and DOS attributes (FileBasicInformation: MS-FSA 2.1.5.15.2). A time of change that a client
// sets is shown until something else changes.
func setBasic(ctx context.Context, _ *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	b, err := wire.ParseBasicInfo(q.Input)
	if err != nil {
		return wire.StatusInfoLengthMismatch
	}
	for _, t := range []wire.Filetime{b.Creation, b.LastAccess, b.LastWrite, b.Change} {
		if t > math.MaxInt64 && t != wire.FiletimeFreeze && t != wire.FiletimeThaw {
			return wire.StatusInvalidParameter
		}
	}
	if b.FileAttributes&wire.FileAttributeDirectory != 0 && !o.dir || b.FileAttributes&wire.FileAttributeTemporary != 0 && o.dir {
		return wire.StatusInvalidParameter
	}
	times := o.keepTimes(ctx)
	if b.FileAttributes != 0 || isTime(b.Creation) {
		if st := o.setMeta(ctx, &b); st != wire.StatusSuccess {
			return st
		}
	}
	var what notify.What
	if b.FileAttributes != 0 {
		what |= notify.Attributes
	}
	if isTime(b.Creation) {
		what |= notify.Creation
	}
	var s vfs.SetAttr
	if isTime(b.LastAccess) {
		s.Mask |= vfs.AttrAtime
		s.Atime.Sec, s.Atime.Nsec = b.LastAccess.Unix()
	}
	if isTime(b.LastWrite) {
		s.Mask |= vfs.AttrMtime
		s.Mtime.Sec, s.Mtime.Nsec = b.LastWrite.Unix()
	}
	if s.Mask != 0 {
		err = o.object().SetAttr(ctx, root, &s)
	}
	if err != nil {
		return statusOf(err)
	}
	times.write = false // setting attributes does not change the time of last write
	o.restoreTimes(ctx, &times)
	o.setKeepsTimes(&b.Times)
	o.changed(ctx, what|notify.Set(s.Mask))
	if isTime(b.Change) {
		return o.setChangeTime(ctx, b.Change)
	}
	return wire.StatusSuccess
}

// isTime reports whether t is a time to be set.
func isTime(t wire.Filetime) bool { return t != wire.FiletimeUnchanged && t <= math.MaxInt64 }

// setMeta stores attributes and the time of creation. If the file system cannot store them, that is an error only if
// the client asked for attributes that not every file has.
func (o *Open) setMeta(ctx context.Context, b *wire.BasicInfo) wire.Status {
	m := namespace.LoadMeta(ctx, o.object())
	old := m
	if b.FileAttributes != 0 {
		m.Attributes = b.FileAttributes&wire.FileAttributesSettable | m.Attributes&wire.FileAttributeSparseFile
		m.Known = true
	}
	if isTime(b.Creation) {
		m.Created = b.Creation
	}
	if m == old {
		return wire.StatusSuccess
	}
	err := namespace.StoreMeta(ctx, o.object(), &m)
	if vfs.StatusOf(err) == vfs.ErrUnsupported && m.Attributes&^(wire.FileAttributeArchive|wire.FileAttributeNormal) == 0 {
		err = nil
	}
	return statusOf(err)
}

// setPosition sets the offset that FilePositionInformation shows. READ and WRITE do not use it (MS-FSA 2.1.5.15.10).
func setPosition(_ context.Context, _ *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	v, err := wire.ParseInfo64(q.Input)
	switch {
	case err != nil:
		return wire.StatusInfoLengthMismatch
	case v > math.MaxInt64:
		return wire.StatusInvalidParameter
	}
	o.position.Store(v)
	return wire.StatusSuccess
}

// writesThrough reports whether everything that is done through the open must be stable before it is answered.
func (o *Open) writesThrough() bool {
	return o.options&wire.FileWriteThrough != 0 || o.writeThrough.Load()
}

// setMode checks the options of FileModeInformation. Only write-through can be changed over a network, so it sets
// only that (MS-FSA 2.1.5.15.9).
func setMode(_ context.Context, _ *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	v, err := wire.ParseInfo32(q.Input)
	if err != nil {
		return wire.StatusInfoLengthMismatch
	}
	m := wire.CreateOptions(v)
	const sync = wire.FileSynchronousIOAlert | wire.FileSynchronousIONonalert
	if m&^modeOptions != 0 || m&sync == sync || (m^o.options)&sync != 0 && m&sync != 0 {
		return wire.StatusInvalidParameter
	}
	o.writeThrough.Store(m&wire.FileWriteThrough != 0)
	return wire.StatusSuccess
}
