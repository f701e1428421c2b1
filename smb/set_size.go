package smb

import (
	"context"
	"math"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// setEndOfFile sets the size of the file (FileEndOfFileInformation: MS-FSA 2.1.5.15.4).
func setEndOfFile(ctx context.Context, r *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	v, st := sizeOf(o, q)
	if st != wire.StatusSuccess {
		return st
	}
	return o.resize(ctx, o.cred, v)
}

// setAllocation truncates the file if its storage is to be smaller than its size. A larger storage is checked against
// the free space and shown to clients, but not reserved: storage is allocated as the file is written
// (FileAllocationInformation: MS-FSA 2.1.5.15.1).
func setAllocation(ctx context.Context, r *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	v, st := sizeOf(o, q)
	if st != wire.StatusSuccess {
		return st
	}
	a, err := o.file.GetAttr(ctx, vfs.AttrSize)
	if err != nil {
		return statusOf(err)
	}
	if v < a.Size {
		return o.resize(ctx, o.cred, v)
	}
	if o.stream != nil && v > namespace.MaxStream {
		return wire.StatusDiskFull
	}
	s, err := o.share.FS.StatFS(ctx, o.cred)
	switch {
	case err != nil:
		return statusOf(err)
	case v-a.Size > s.AvailBytes:
		return wire.StatusDiskFull
	}
	if o.stream == nil {
		o.srv.links.reserve(o.link, v)
	}
	o.moveChangeTime(ctx)
	return wire.StatusSuccess
}

// setValidDataLength only checks the request, because unwritten data reads as zeros (MS-FSA 2.1.5.15.14).
func setValidDataLength(ctx context.Context, _ *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	v, st := sizeOf(o, q)
	if st != wire.StatusSuccess {
		return st
	}
	a, err := o.file.GetAttr(ctx, vfs.AttrSize)
	if err != nil {
		return statusOf(err)
	}
	if v > a.Size {
		return wire.StatusInvalidParameter
	}
	return wire.StatusSuccess
}

// sizeOf parses the size that the request sets.
func sizeOf(o *Open, q *wire.SetInfoRequest) (uint64, wire.Status) {
	v, err := wire.ParseInfo64(q.Input)
	switch {
	case err != nil:
		return 0, wire.StatusInfoLengthMismatch
	case o.dir, o.file == nil, v > math.MaxInt64:
		return 0, wire.StatusInvalidParameter
	}
	return v, wire.StatusSuccess
}

// resize sets the size. An open with write access may do so whatever the file's mode is now.
func (o *Open) resize(ctx context.Context, c *vfs.Cred, size uint64) wire.Status {
	times := o.keepTimes(ctx)
	if o.stream != nil {
		err := o.stream.truncate(ctx, size)
		if err == nil {
			o.restoreTimes(ctx, &times)
			o.changed(ctx, notify.Size)
		}
		return statusOf(err)
	}
	s := vfs.SetAttr{Mask: vfs.AttrSize, Size: size}
	err := o.object().SetAttr(ctx, c, &s)
	if st := vfs.StatusOf(err); st == vfs.ErrAccess || st == vfs.ErrPerm {
		err = o.object().SetAttr(ctx, root, &s)
	}
	if err == nil {
		o.srv.links.reserve(o.link, 0)
		o.restoreTimes(ctx, &times)
		o.changed(ctx, notify.Size)
	}
	return statusOf(err)
}
