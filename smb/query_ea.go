package smb

import (
	"context"
	"strings"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// listLimit is the size, in bytes, of the longest list of information.
const listLimit = 64 << 10

// Names and values of extended attributes (MS-FSCC 2.4.16), bytes.
const (
	maxEAName  = 255
	maxEAValue = 1<<16 - 1
)

// eaNames lists the extended attributes of a node that clients see.
func eaNames(ctx context.Context, c *vfs.Cred, n vfs.Node) ([]string, error) {
	x, ok := n.(vfs.Xattrer)
	if k := n.Kind(); !ok || k != vfs.KindRegular && k != vfs.KindDirectory {
		return nil, nil
	}
	all, err := x.ListXattrs(ctx, c)
	if err != nil {
		if vfs.StatusOf(err) == vfs.ErrUnsupported {
			err = nil
		}
		return nil, err
	}
	names := all[:0]
	for _, name := range all {
		if !namespace.OwnXattr(name) && len(name) <= maxEAName {
			names = append(names, name)
		}
	}
	return names, nil
}

// eaSize is the size of all extended attributes as FileFullEaInformation, in bytes.
func eaSize(ctx context.Context, n vfs.Node) uint32 {
	root := vfs.Cred{} // their size is no secret
	names, err := eaNames(ctx, &root, n)
	if err != nil || len(names) == 0 {
		return 0
	}
	size := 0
	for _, name := range names {
		if v, err := n.(vfs.Xattrer).GetXattr(ctx, &root, name); err == nil && len(v) <= maxEAValue {
			size = (size+3)&^3 + 8 + len(name) + 1 + len(v)
		}
	}
	return uint32(size)
}

// eaNamed finds the name of an attribute among names: an exact match, or else one that differs only in case.
func eaNamed(names []string, name string) (string, bool) {
	found, ok := "", false
	for _, n := range names {
		if n == name {
			return n, true
		}
		if !ok && strings.EqualFold(n, name) {
			found, ok = n, true
		}
	}
	return found, ok
}

// queryEAs lists extended attributes: those that the request names, or all from an index on, or the next ones (MS-FSA
// 2.1.5.12.14).
func queryEAs(iq *infoQuery) wire.Status {
	names, err := eaNames(iq.ctx, iq.o.cred, iq.o.object())
	if err != nil {
		return statusOf(err)
	}
	l := wire.NewList(iq.out, int(min(iq.q.OutputLength, listLimit)))
	if len(iq.q.Input) > 0 {
		return iq.namedEAs(&l, names)
	}
	if len(names) == 0 {
		return wire.StatusNoEAsOnFile
	}
	at := iq.o.eaIndex.Load()
	switch {
	case iq.q.Flags&wire.QueryInfoIndexSpecified != 0:
		// The index counts from 1. It is in the field that holds FileName in other requests.
		if at = iq.q.Additional; at == 0 || int64(at) > int64(len(names)) {
			return wire.StatusNonexistentEAEntry
		}
		at--
	case iq.q.Flags&wire.QueryInfoRestartScan != 0:
		at = 0
	}
	if int64(at) >= int64(len(names)) {
		iq.o.eaIndex.Store(0)
		return wire.StatusNoMoreFiles
	}
	for _, name := range names[at:] {
		more, err := iq.addEA(&l, name, name)
		if err != nil {
			return statusOf(err)
		}
		if !more {
			if l.Empty() {
				return wire.StatusBufferTooSmall
			}
			iq.o.eaIndex.Store(at)
			iq.out = l.Bytes()
			return wire.StatusBufferOverflow
		}
		if at++; iq.q.Flags&wire.QueryInfoReturnSingleEntry != 0 {
			break
		}
	}
	iq.o.eaIndex.Store(at)
	iq.out = l.Bytes()
	return wire.StatusSuccess
}

// namedEAs lists the attributes that the request names. An attribute that does not exist is listed without a value.
func (iq *infoQuery) namedEAs(l *wire.List, names []string) wire.Status {
	asked, err := wire.ParseEANames(iq.q.Input)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	for n := range asked.All() {
		name, ok := eaNamed(names, string(n))
		if !ok {
			name = ""
		}
		more, err := iq.addEA(l, name, string(n))
		if err != nil {
			return statusOf(err)
		}
		if !more {
			if l.Empty() {
				return wire.StatusBufferTooSmall
			}
			iq.out = l.Bytes()
			return wire.StatusBufferOverflow
		}
		if iq.q.Flags&wire.QueryInfoReturnSingleEntry != 0 {
			break
		}
	}
	iq.out = l.Bytes()
	return wire.StatusSuccess
}

// addEA appends an attribute under the name shown, and returns false if there is no room. An attribute that was just
// removed, or that is too large for SMB, is left out, or has no value.
func (iq *infoQuery) addEA(l *wire.List, name, shown string) (bool, error) {
	ea := wire.EA{Name: []byte(shown)}
	if name != "" {
		v, err := iq.o.object().(vfs.Xattrer).GetXattr(iq.ctx, iq.o.cred, name)
		switch {
		case vfs.StatusOf(err) == vfs.ErrNoAttr, err == nil && len(v) > maxEAValue:
			if len(iq.q.Input) == 0 {
				return true, nil
			}
		case err != nil:
			return false, err
		default:
			ea.Value = v
		}
	}
	return l.AddEA(&ea), nil
}
