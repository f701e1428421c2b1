package wire

// appendSymlink appends the fields that a symlink error and the reparse data of a symlink have in common (MS-FSCC 2.1.2.4).
func appendSymlink(b, substitute, shown []byte, flags uint32) []byte {
	b = le.AppendUint16(b, 0)
	b = le.AppendUint16(b, uint16(len(substitute)))
	b = le.AppendUint16(b, uint16(len(substitute)))
	b = le.AppendUint16(b, uint16(len(shown)))
	b = le.AppendUint32(b, flags)
	return append(append(b, substitute...), shown...)
}

func parseSymlink(d []byte) (substitute, shown []byte, flags uint32, err error) {
	if len(d) < 12 {
		return nil, nil, 0, malformed("symlink of %d bytes", len(d))
	}
	if substitute, err = within(d[12:], uint64(le.Uint16(d)), uint64(le.Uint16(d[2:]))); err != nil {
		return nil, nil, 0, err
	}
	shown, err = within(d[12:], uint64(le.Uint16(d[4:])), uint64(le.Uint16(d[6:])))
	return substitute, shown, le.Uint32(d[8:]), err
}

// within returns length bytes of b at off. If length is zero it ignores off and returns nothing.
func within(b []byte, off, length uint64) ([]byte, error) {
	if length == 0 {
		return nil, nil
	}
	if off+length < off || off+length > uint64(len(b)) {
		return nil, malformed("%d bytes at %d of %d", length, off, len(b))
	}
	return b[off : off+length : off+length], nil
}
