package wire

// ParseEmpty checks a body without fields: that of LOGOFF, TREE_DISCONNECT, ECHO and CANCEL requests, and that of
// the responses of LOGOFF, TREE_DISCONNECT, ECHO, FLUSH and LOCK
// (MS-SMB2 2.2.7, 2.2.8, 2.2.11, 2.2.12, 2.2.18, 2.2.27 to 2.2.30).
func ParseEmpty(msg []byte) error {
	_, err := body(msg, 4, 4)
	return err
}

// AppendEmpty appends a body without fields.
func AppendEmpty(b []byte) []byte { return append(b, 4, 0, 0, 0) }
