package client

import (
	"encoding/binary"
	"io"

	"fileserver/smb/wire"
)

// WriteMessage writes a message with its length in front (MS-SMB2 2.1), in one write.
func WriteMessage(w io.Writer, msg []byte) error {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(msg)), uint32(len(msg)))
	_, err := w.Write(append(b, msg...))
	return err
}

// ReadMessage reads a message (MS-SMB2 2.1). If it is longer than limit bytes or shorter
// than a header, the error is an [ErrProtocol].
func ReadMessage(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if uint64(n) > uint64(limit) || n < wire.HeaderLen {
		return nil, broken("a message that begins with %q", head[:])
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// OverStream returns an [Exchange] over a stream, for messages of up to limit bytes. To
// end it early the caller sets a deadline or closes the stream.
func OverStream(rw io.ReadWriter, limit int) Exchange {
	return func(msg []byte) ([]byte, error) {
		if err := WriteMessage(rw, msg); err != nil {
			return nil, err
		}
		return ReadMessage(rw, limit)
	}
}

// Do sends one request, encrypted if Encrypt is set, and returns its response. If the
// status is not success, the error is a *[StatusError].
func (c *Machine) Do(x Exchange, q Request) (Response, error) {
	msg := c.Message(q)
	if c.Encrypt {
		var err error
		if msg, err = c.Seal(msg); err != nil {
			return Response{}, err
		}
	}
	raw, err := x(msg)
	if err != nil {
		return Response{}, err
	}
	list, err := c.Take(raw)
	if err != nil {
		return Response{}, err
	}
	r := list[0]
	switch {
	case len(list) != 1:
		return Response{}, broken("%d responses to one request", len(list))
	case r.Command != q.Command:
		return Response{}, broken("%v was answered by %v", q.Command, r.Command)
	case r.Status != wire.StatusSuccess:
		return Response{}, &StatusError{q.Command, r.Status}
	}
	return r, nil
}
