package tcp

import (
	"encoding/binary"
	"fmt"

	"fileserver/smb/transport"
)

// message is a message to be sent. It implements [stream.Message].
type message struct {
	srv    *Server
	mark   [markLen]byte
	n      int // bytes, the mark's included
	pieces []transport.Piece
}

// Len implements [stream.Message].
func (m *message) Len() int { return m.n }

// AppendTo implements [stream.Message].
func (m *message) AppendTo(parts [][]byte) [][]byte {
	parts = append(parts, m.mark[:])
	for i := range m.pieces {
		if b := m.pieces[i].Bytes(); len(b) > 0 {
			parts = append(parts, b)
		}
	}
	return parts
}

// Done implements [stream.Message].
func (m *message) Done() {
	for i := range m.pieces {
		m.pieces[i].Buf.Release()
	}
	clear(m.pieces)
	m.srv.unused.Put(m)
}

// Send implements [transport.Conn].
func (c *conn) Send(o *transport.Outgoing) error {
	n := o.Len()
	if n == 0 || n > 0xffffff || len(o.Place) > 0 || o.HasInvalidate {
		o.Release()
		return fmt.Errorf("smb/tcp: a message of %d bytes, or with RDMA", n)
	}
	m, _ := c.srv.unused.Get().(*message)
	if m == nil {
		m = &message{srv: c.srv}
	}
	binary.BigEndian.PutUint32(m.mark[:], uint32(n))
	m.n = markLen + n
	m.pieces = append(m.pieces[:0], o.Pieces...)
	return c.stream.Send(m)
}

// Disconnect implements [transport.Conn].
func (c *conn) Disconnect(err error, drain bool) {
	if drain {
		c.stream.Drain()
		return
	}
	c.stream.Fail(err)
}
