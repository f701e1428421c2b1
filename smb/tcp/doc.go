// Package tcp is SMB's TCP transport: messages behind their four-byte lengths (MS-SMB2
// 2.1, RFC 1002 4.3.1). It provides [transport.Conn] over a net.Conn.
//
// One goroutine for each connection reads into buffers of the pool and passes messages to the handler. [stream.Conn]
// sends the responses: Send does not wait for the peer.
//
// Until the handler calls Authenticated, messages are short, and memory is allocated only as their bytes arrive. The
// server calls it when a session is established.
package tcp
