package smb

import (
	"bytes"
	"context"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// setEAs sets extended attributes, or removes those without a value (FileFullEaInformation: MS-FSA 2.1.5.15.5).
func setEAs(ctx context.Context, r *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	if len(q.Input) == 0 {
		return wire.StatusInfoLengthMismatch
	}
	list, err := wire.ParseEAs(q.Input)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	return o.setEAs(ctx, o.cred, list)
}

// setEAs sets the attributes of a list. An existing attribute whose name differs only in case keeps its name.
func (o *Open) setEAs(ctx context.Context, c *vfs.Cred, list wire.EAs) wire.Status {
	x, ok := o.object().(vfs.Xattrer)
	if k := o.object().Kind(); !ok || k != vfs.KindRegular && k != vfs.KindDirectory {
		return wire.StatusEAsNotSupported
	}
	names, err := eaNames(ctx, root, o.object())
	if err != nil {
		return eaStatus(err)
	}
	for ea := range list.All() {
		switch {
		case !validEAName(ea.Name):
			return wire.StatusInvalidEAName
		case ea.Flags&^wire.EANeed != 0:
			return wire.StatusInvalidParameter
		case namespace.OwnXattr(string(ea.Name)):
			return wire.StatusAccessDenied
		}
		name, found := eaNamed(names, string(ea.Name))
		switch {
		case len(ea.Value) > 0:
			if !found {
				name = string(ea.Name)
				names = append(names, name)
			}
			err = x.SetXattr(ctx, c, name, bytes.Clone(ea.Value), 0)
		case found:
			err = x.RemoveXattr(ctx, c, name)
		}
		if err != nil && vfs.StatusOf(err) != vfs.ErrNoAttr {
			return eaStatus(err)
		}
	}
	o.changed(ctx, notify.Xattrs)
	return wire.StatusSuccess
}

// validEAName reports whether a name has only the characters allowed (MS-FSCC 2.4.16).
func validEAName(name []byte) bool {
	for _, c := range name {
		if c < ' ' || bytes.IndexByte([]byte(`"*+,/:;<=>?[\]|`), c) >= 0 {
			return false
		}
	}
	return len(name) > 0
}

func eaStatus(err error) wire.Status {
	switch vfs.StatusOf(err) {
	case vfs.ErrUnsupported:
		return wire.StatusEAsNotSupported
	case vfs.ErrTooBig, vfs.ErrNoSpace:
		return wire.StatusEATooLarge
	}
	return statusOf(err)
}
