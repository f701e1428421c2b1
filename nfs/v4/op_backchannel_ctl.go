package v4

import "fileserver/nfs/v4/proto"

// backchannelCtl is BACKCHANNEL_CTL (RFC 8881 18.33). No session has a back channel, and to control it is in vain.
func (c *compound) backchannelCtl() proto.Status {
	c.d.Uint32()
	decodeCallbackSec(c.d)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	return proto.ErrNotSupp
}
