package smbdirect

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/smb/transport"
)

// NetConn is an SMB Direct connection as a [net.Conn]: a stream of messages, each
// behind its length in four bytes (MS-SMB2 2.1), as SMB clients written for TCP expect.
// Such a client moves all data inside its messages; it has no use for RDMA READ and WRITE.
//
// The client must keep its requests within the longest message that the server takes, which it does not know: Windows takes 1 MiB.
// A client with 15 credits sends no request above 960 KiB.
type NetConn struct {
	c *Conn

	mu     sync.Mutex
	in     []*slab.Buf // messages received
	off    int         // bytes read of the first, its 4-byte length included
	err    error       // after in is empty
	wake   chan struct{}
	readBy time.Time
	gone   chan struct{}

	wmu  sync.Mutex
	out  []byte // an unfinished message
	size int    // bytes of the whole message, its length included; 0: not known yet
}

// netFragmented is the longest message that a NetConn takes, bytes: the response to the longest READ. With a lower limit servers return
// less than the client asked for, and the client may take that for the end of the file.
const netFragmented = 8<<20 + 128<<10

// DialNet connects to an SMB Direct server and returns the connection as a [net.Conn]. It takes messages of 8 MiB unless params has
// another MaxFragmented.
func DialNet(ctx context.Context, p rdma.Provider, addr netip.AddrPort, memory func(rdma.Device) (*rdma.Memory, error), params Params) (*NetConn, error) {
	if params.MaxFragmented == 0 {
		params.MaxFragmented = netFragmented
	}
	n := &NetConn{wake: make(chan struct{}, 1), gone: make(chan struct{})}
	c, err := Dial(ctx, p, addr, DialConfig{Memory: memory, Params: params, Handler: func(*Conn) transport.Handler { return n }})
	if err != nil {
		return nil, err
	}
	n.c = c
	return n, nil
}

// SMBDirect returns the underlying connection.
func (n *NetConn) SMBDirect() *Conn { return n.c }

// Message implements [transport.Handler].
func (n *NetConn) Message(buf *slab.Buf) {
	n.mu.Lock()
	closed := n.err != nil
	if !closed {
		n.in = append(n.in, buf)
	}
	n.mu.Unlock()
	if closed {
		buf.Release()
	}
	n.signal()
}

// Closed implements [transport.Handler].
func (n *NetConn) Closed(err error) {
	n.mu.Lock()
	if n.err == nil {
		if n.err = err; err == nil {
			n.err = io.EOF
		}
	}
	if errors.Is(n.err, net.ErrClosed) {
		n.dropLocked()
	}
	n.mu.Unlock()
	close(n.gone)
	n.signal()
}

// dropLocked releases the messages that have not been read.
func (n *NetConn) dropLocked() {
	for _, b := range n.in {
		b.Release()
	}
	n.in = nil
}

func (n *NetConn) signal() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Read implements [net.Conn]. One goroutine at a time reads.
func (n *NetConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n.mu.Lock()
		if len(n.in) > 0 {
			k := n.takeLocked(p)
			n.mu.Unlock()
			return k, nil
		}
		err, by := n.err, n.readBy
		n.mu.Unlock()
		if err != nil {
			return 0, err
		}
		var expired <-chan time.Time
		if !by.IsZero() {
			t := time.NewTimer(time.Until(by))
			defer t.Stop()
			expired = t.C
		}
		select {
		case <-n.wake:
		case <-expired:
			n.mu.Lock()
			late := !n.readBy.IsZero() && !time.Now().Before(n.readBy)
			n.mu.Unlock()
			if late {
				return 0, os.ErrDeadlineExceeded
			}
		}
	}
}

// takeLocked reads from the first message.
func (n *NetConn) takeLocked(p []byte) int {
	b := n.in[0]
	k := 0
	if n.off < 4 {
		var length [4]byte
		binary.BigEndian.PutUint32(length[:], uint32(b.Len()))
		k = copy(p, length[n.off:])
		n.off += k
	}
	if n.off >= 4 {
		m := copy(p[k:], b.Bytes()[n.off-4:])
		k += m
		n.off += m
	}
	if n.off == 4+b.Len() {
		b.Release()
		n.in = n.in[1:]
		n.off = 0
	}
	return k
}

// Write implements [net.Conn]. A message is sent when it is complete.
func (n *NetConn) Write(p []byte) (int, error) {
	n.wmu.Lock()
	defer n.wmu.Unlock()
	done := 0
	for done < len(p) {
		want := 4
		if n.size > 0 {
			want = n.size
		}
		k := min(want-len(n.out), len(p)-done)
		n.out = append(n.out, p[done:done+k]...)
		done += k
		switch {
		case len(n.out) < want:
		case n.size == 0:
			length := binary.BigEndian.Uint32(n.out)
			if length == 0 || length > slab.MaxSize {
				return done, fmt.Errorf("smbdirect: a message of %d bytes", length)
			}
			n.size = 4 + int(length)
		default:
			if err := n.send(n.out[4:]); err != nil {
				return done, err
			}
			n.out, n.size = n.out[:0], 0
		}
	}
	return done, nil
}

func (n *NetConn) send(msg []byte) error {
	buf, err := n.c.pool.Get(n.c.ctx, len(msg))
	if err != nil {
		return net.ErrClosed
	}
	copy(buf.Bytes(), msg)
	return n.c.Send(&transport.Outgoing{Pieces: []transport.Piece{{Buf: buf, Len: len(msg)}}})
}

// Close implements [net.Conn]: it waits until all memory is released.
func (n *NetConn) Close() error {
	n.mu.Lock()
	if n.err == nil {
		n.err = net.ErrClosed
	}
	n.dropLocked()
	n.mu.Unlock()
	n.signal()
	n.c.Disconnect(nil, true)
	<-n.gone
	return nil
}

// LocalAddr implements [net.Conn].
func (n *NetConn) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(n.c.info.LocalAddr) }

// RemoteAddr implements [net.Conn].
func (n *NetConn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(n.c.info.RemoteAddr) }

// SetDeadline implements [net.Conn]. It bounds reading; writing never waits for the peer.
func (n *NetConn) SetDeadline(t time.Time) error { return n.SetReadDeadline(t) }

// SetReadDeadline implements [net.Conn].
func (n *NetConn) SetReadDeadline(t time.Time) error {
	n.mu.Lock()
	n.readBy = t
	n.mu.Unlock()
	n.signal()
	return nil
}

// SetWriteDeadline implements [net.Conn]: writing never waits for the peer.
func (n *NetConn) SetWriteDeadline(time.Time) error { return nil }
