package wire

import "fmt"

// GUID is a GUID in wire form (MS-DTYP 2.3.4.2).
type GUID [16]byte

// String formats the GUID as registries and tools do: the first three fields are numbers (MS-DTYP 2.3.4.3).
func (g GUID) String() string {
	return fmt.Sprintf("%08x-%04x-%04x-%x-%x", le.Uint32(g[:]), le.Uint16(g[4:]), le.Uint16(g[6:]), g[8:10], g[10:])
}

func getGUID(b []byte) GUID { return GUID(b[:16]) }
