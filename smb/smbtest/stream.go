package smbtest

import (
	"math"
	"net"
	"time"

	"fileserver/smb/client"
)

// stream is a Wire over a stream, where each message has its length in front (MS-SMB2 2.1).
type stream struct{ nc net.Conn }

// Over returns a Wire for SMB over TCP on a connection.
func Over(nc net.Conn) Wire { return stream{nc} }

func (s stream) Send(msg []byte) error { return client.WriteMessage(s.nc, msg) }

func (s stream) Recv(d time.Duration) ([]byte, error) {
	if err := s.nc.SetReadDeadline(time.Now().Add(d)); err != nil {
		return nil, err
	}
	return client.ReadMessage(s.nc, math.MaxInt32)
}

func (s stream) Close() { s.nc.Close() }
