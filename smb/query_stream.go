package smb

import (
	"context"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// info makes of what is known of the file what clients see of the stream.
func (f *streamFile) info(ctx context.Context, i *info) (err error) {
	if i.attr.Size, err = f.size(ctx); err != nil {
		return err
	}
	i.attr.Used = streamAllocation(i.attr.Size)
	if i.directory() {
		i.attr.Kind, i.attr.Nlink = vfs.KindRegular, 1
		if i.dos &^= wire.FileAttributeDirectory; i.dos == 0 {
			i.dos = wire.FileAttributeNormal
		}
	}
	return nil
}

// shownName is the open's path as clients see it, without the separator in front: of a stream with its name.
func (o *Open) shownName() string {
	name := shownPath(o.path())
	if o.named() {
		ref, _ := o.srv.streams.where(o.stream.s)
		name += ":" + ref.Name
	}
	return name
}

// queryStreams lists the streams of the file or directory, whichever of them the open is of: a file's data first, which directories
// do not have (FileStreamInformation: MS-FSA 2.1.5.12.29).
func queryStreams(iq *infoQuery) wire.Status {
	n := iq.o.object()
	a, err := n.GetAttr(iq.ctx, vfs.AttrSize|vfs.AttrUsed)
	if err != nil {
		return statusOf(err)
	}
	all, err := namespace.ListStreams(iq.ctx, n)
	if err != nil {
		return statusOf(err)
	}
	// One that does not fit any more begins behind what is sent, and is cut off.
	l := wire.NewList(iq.out, int(iq.q.OutputLength)+listLimit)
	if n.Kind() != vfs.KindDirectory {
		i := info{attr: a}
		l.AddStream(&wire.Stream{Name: "::$DATA", Size: i.size(), AllocationSize: i.allocated()})
	}
	for _, ref := range all {
		data, err := namespace.LoadStream(iq.ctx, n, ref)
		if err != nil {
			continue // it has just been removed
		}
		size := uint64(len(data))
		if !l.AddStream(&wire.Stream{Name: ":" + ref.Name + ":$DATA", Size: size, AllocationSize: streamAllocation(size)}) {
			break
		}
	}
	iq.out = l.Bytes()
	return wire.StatusSuccess
}
