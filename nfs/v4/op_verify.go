package v4

import (
	"bytes"

	"fileserver/nfs/v4/proto"
)

// verify is VERIFY (RFC 8881 18.31).
func (c *compound) verify() proto.Status {
	same, st := c.compare()
	if st == proto.OK && !same {
		return proto.ErrNotSame
	}
	return st
}

// compare decodes attributes and compares them with those of the current filehandle.
func (c *compound) compare() (same bool, st proto.Status) {
	f := decodeFattr(c.d)
	if c.badXDR() {
		return false, proto.ErrBadXDR
	}
	if st := c.unsupported(&f, c.gettable()); st != proto.OK {
		return false, st
	}
	if f.mask.Has(proto.AttrRdAttrError) {
		return false, proto.ErrInval
	}
	var v values
	if st := c.values(&c.cur, f.mask, &v); st != proto.OK {
		return false, st
	}
	// Every value has one encoding: equal attributes are equal bytes.
	have := c.appendAttrs(nil, f.mask, &v)
	want := f.mask.Append(nil)
	return bytes.Equal(have[len(want)+4:], f.vals), proto.OK
}
