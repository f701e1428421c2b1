package ntlm

// Attributes of a target (MS-NLMP 2.2.2.1 AV_PAIR).
const (
	avEOL             = 0
	avNbComputerName  = 1
	avNbDomainName    = 2
	avDNSComputerName = 3
	avDNSDomainName   = 4
	avFlags           = 6
	avTimestamp       = 7
	avTargetName      = 9
	avChannelBindings = 10

	avFlagMIC = 2 // the AUTHENTICATE message carries a MIC
)

func appendPair(b []byte, id uint16, v []byte) []byte {
	return append(le.AppendUint16(le.AppendUint16(b, id), uint16(len(v))), v...)
}

// pairs holds the attributes of a response that the acceptor uses.
type pairs struct {
	flags           uint32
	targetName      string
	channelBindings []byte
}

func parsePairs(b []byte) (p pairs, err error) {
	for range maxPairs {
		if len(b) < 4 {
			return p, malformed("attributes end early")
		}
		id, n := le.Uint16(b), int(le.Uint16(b[2:]))
		if n > len(b)-4 {
			return p, malformed("attribute %d of %d bytes", id, n)
		}
		v := b[4 : 4+n]
		b = b[4+n:]
		switch id {
		case avEOL:
			return p, nil
		case avFlags:
			if n != 4 {
				return p, malformed("flags attribute of %d bytes", n)
			}
			p.flags = le.Uint32(v)
		case avTargetName:
			p.targetName = decode(v)
		case avChannelBindings:
			if n != 16 {
				return p, malformed("channel bindings of %d bytes", n)
			}
			p.channelBindings = v
		}
	}
	return p, malformed("more than %d attributes", maxPairs)
}
