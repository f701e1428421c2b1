// Package tcp is SMB's TCP transport: messages behind their four-byte lengths (MS-SMB2
// 2.1, RFC 1002 4.3.1). It provides [transport.Conn] over a net.Conn.
//
// One goroutine for each connection reads, straight into buffers of the pool, and hands messages to
// the handler. [stream.Conn] sends the responses: Send does not wait for the peer.
//
// Until the handler has called Authenticated (the server does, when a session is there) messages are short, and
// memory is taken only as their bytes arrive.
package tcp
