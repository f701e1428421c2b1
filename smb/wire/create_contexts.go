package wire

import "iter"

// Names of create contexts (MS-SMB2 2.2.13.2).
const (
	CreateEABuffer                = "ExtA"
	CreateSDBuffer                = "SecD"
	CreateDurableHandleRequest    = "DHnQ"
	CreateDurableHandleReconnect  = "DHnC"
	CreateAllocationSize          = "AlSi"
	CreateQueryMaximalAccess      = "MxAc"
	CreateTimewarpToken           = "TWrp"
	CreateQueryOnDiskID           = "QFid"
	CreateRequestLease            = "RqLs" // version 1 and 2
	CreateDurableHandleRequestV2  = "DH2Q"
	CreateDurableHandleReconnect2 = "DH2C"
	CreateAppInstanceID           = "\x45\xbc\xa6\x6a\xef\xa7\xf7\x4a\x90\x08\xfa\x46\x2e\x14\x4d\x74"
	CreateAppInstanceVersion      = "\xb9\x82\xd0\xb7\x3b\x56\x07\x4f\xa0\x7b\x52\x4a\x81\x16\xa0\x10"
	CreateSVHDXOpenDevice         = "\x9c\xcb\xcf\x9e\x04\xc1\xe6\x43\x98\x0e\x15\x8d\xa1\xf6\xec\x83"
	CreatePosix                   = "\x93\xad\x25\x50\x9c\xb4\x11\xe7\xb4\x23\x83\xde\x96\x8b\xcd\x7c"
)

// CreateContexts is a list of create contexts in wire form whose chaining has been checked (MS-SMB2 2.2.13.2).
type CreateContexts []byte

const createContextLen = 16

func parseCreateContexts(msg []byte, off, length uint32) (CreateContexts, error) {
	if length == 0 {
		return nil, nil
	}
	chain, err := span(msg, uint64(off), uint64(length))
	if err != nil {
		return nil, err
	}
	if off%8 != 0 {
		return nil, malformed("create contexts at offset %d", off)
	}
	for b := chain; ; {
		_, _, rest, err := createContext(b)
		if err != nil {
			return nil, err
		}
		if b = rest; b == nil {
			return CreateContexts(chain), nil
		}
	}
}

// createContext splits the first context off b; rest is nil when it is the last.
func createContext(b []byte) (name, data, rest []byte, err error) {
	if len(b) < createContextLen {
		return nil, nil, nil, malformed("create context of %d bytes", len(b))
	}
	if next := le.Uint32(b); next != 0 {
		if next%8 != 0 || next < createContextLen || uint64(next) > uint64(len(b)) {
			return nil, nil, nil, malformed("create context at %d of %d bytes", next, len(b))
		}
		b, rest = b[:next:next], b[next:]
	}
	nameOff, nameLen := uint64(le.Uint16(b[4:])), uint64(le.Uint16(b[6:]))
	dataOff, dataLen := uint64(le.Uint16(b[10:])), uint64(le.Uint32(b[12:]))
	if nameLen < 4 || nameOff < createContextLen || nameOff+nameLen > uint64(len(b)) {
		return nil, nil, nil, malformed("create context's name of %d bytes at %d of %d", nameLen, nameOff, len(b))
	}
	name = b[nameOff : nameOff+nameLen]
	if dataLen > 0 {
		if dataOff < nameOff+nameLen || dataOff%8 != 0 || dataOff+dataLen > uint64(len(b)) {
			return nil, nil, nil, malformed("create context's data of %d bytes at %d of %d", dataLen, dataOff, len(b))
		}
		data = b[dataOff : dataOff+dataLen : dataOff+dataLen]
	}
	return name, data, rest, nil
}

// All yields the name and the data of every context.
func (c CreateContexts) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, data []byte) bool) {
		for b := []byte(c); b != nil; {
			name, data, rest, err := createContext(b)
			if err != nil || !yield(name, data) {
				return
			}
			b = rest
		}
	}
}

// Find returns the data of the first context called name.
func (c CreateContexts) Find(name string) (data []byte, ok bool) {
	for n, d := range c.All() {
		if string(n) == name {
			return d, true
		}
	}
	return nil, false
}

// Add appends a context with the data that body appends. If body is nil the context has no data.
func (c *CreateContexts) Add(name string, body func([]byte) []byte) {
	b := []byte(*c)
	if len(b) > 0 {
		last := 0
		for next := 0; ; last += next {
			if next = int(le.Uint32(b[last:])); next == 0 {
				break
			}
		}
		b = pad(b, 0, 8)
		put32(b, last, len(b)-last)
	}
	at := len(b)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint16(b, createContextLen)
	b = le.AppendUint16(b, uint16(len(name)))
	b = zeros(b, 8)
	b = append(b, name...)
	if body != nil {
		b = pad(b, at, 8)
		off := len(b) - at
		b = body(b)
		put16(b, at+10, off)
		put32(b, at+12, len(b)-at-off)
	}
	*c = b
}
