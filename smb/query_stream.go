package smb

import (
	"context"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// info changes the information about the file into that about the stream.
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

// shownName returns the open's path as clients see it, without a leading separator. The path of a stream ends with
// the stream's name.
func (o *Open) shownName() string {
	name := shownPath(o.path())
	if o.named() {
		ref, _ := o.srv.streams.where(o.stream.s)
		name += ":" + ref.Name
	}
	return name
}

// queryStreams lists the streams of the file or directory, whether the open is of the file or of one of its streams.
// A file's data comes first; directories have none (FileStreamInformation: MS-FSA 2.1.5.12.29).
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
	// An entry that does not fit begins behind the part that is sent, and is cut off.
	l := wire.NewList(iq.out, int(iq.q.OutputLength)+listLimit)
	if n.Kind() != vfs.KindDirectory {
		i := info{attr: a}
		l.AddStream(&wire.Stream{Name: "::$DATA", Size: i.size(), AllocationSize: i.allocated()})
	}
	for _, ref := range all {
		data, err := namespace.LoadStream(iq.ctx, n, ref)
		if err != nil {
			continue // the stream has just been removed
		}
		size := uint64(len(data))
		if !l.AddStream(&wire.Stream{Name: ":" + ref.Name + ":$DATA", Size: size, AllocationSize: streamAllocation(size)}) {
			break
		}
	}
	iq.out = l.Bytes()
	return wire.StatusSuccess
}
