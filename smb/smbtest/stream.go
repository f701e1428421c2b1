package smbtest

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

// stream is a Wire over a stream, with lengths in front of messages.
type stream struct{ nc net.Conn }

// Over makes a Wire of a connection as SMB over TCP uses it.
func Over(nc net.Conn) Wire { return stream{nc} }

func (s stream) Send(msg []byte) error {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(msg)), uint32(len(msg)))
	_, err := s.nc.Write(append(b, msg...))
	return err
}

func (s stream) Recv(d time.Duration) ([]byte, error) {
	if err := s.nc.SetReadDeadline(time.Now().Add(d)); err != nil {
		return nil, err
	}
	var h [4]byte
	if _, err := io.ReadFull(s.nc, h[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(h[:]))
	_, err := io.ReadFull(s.nc, b)
	return b, err
}

func (s stream) Close() { s.nc.Close() }
