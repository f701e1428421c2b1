package client

import (
	"context"
	"errors"
	"net"
	"os"

	"fileserver/nfs/rpc"
	"fileserver/nfs/rpc/rpcclient"
)

// overhead is the most bytes of a reply besides its bulk data.
const overhead = 4 << 10

// Cred is the caller's identity (AUTH_SYS, RFC 5531 appendix A).
type Cred struct {
	UID, GID uint32
	Groups   []uint32
}

// Append appends the body of the credential.
func (c *Cred) Append(b []byte) []byte {
	name, _ := os.Hostname()
	return rpc.AppendAuthSys(b, 0, name, c.UID, c.GID, c.Groups)
}

// DialTCP connects to a server at addr ("host:port"). As root it uses a reserved port, which many servers require.
func DialTCP(ctx context.Context, addr string, cred Cred) (Caller, error) {
	nc, err := rpcclient.DialReserved(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return OverTCP(nc, cred), nil
}

// OverTCP returns a Caller that uses an existing connection. Closing the Caller closes the connection.
func OverTCP(nc net.Conn, cred Cred) Caller {
	return tcpCaller{rpcclient.New(nc, rpc.AuthSys, cred.Append(nil))}
}

type tcpCaller struct{ c *rpcclient.Client }

// NewSlot implements [Caller].
func (t tcpCaller) NewSlot(_ context.Context, n int) (Slot, error) {
	return &tcpSlot{c: t.c, data: make([]byte, n), into: make([]byte, n+overhead)}, nil
}

// Close implements [Caller].
func (t tcpCaller) Close() error {
	err := t.c.Close()
	if errors.Is(err, net.ErrClosed) { // the reader has closed it already
		return nil
	}
	return err
}

type tcpSlot struct {
	c          *rpcclient.Client
	data, into []byte
	args       [2][]byte
}

// Data implements [Slot].
func (s *tcpSlot) Data() []byte { return s.data }

// Release implements [Slot].
func (s *tcpSlot) Release() error { return nil }

// Do implements [Slot].
func (s *tcpSlot) Do(ctx context.Context, call *Call) error {
	s.args[0], s.args[1] = call.Args, s.data[:call.Send]
	stat, res, err := s.c.Do(ctx, rpcclient.Call{Prog: call.Prog, Vers: call.Vers, Proc: call.Proc, Args: s.args[:], Into: s.into})
	if err != nil {
		return err
	}
	if stat != rpc.Success {
		return &AcceptError{call.Prog, call.Vers, call.Proc, stat}
	}
	call.Results, call.Placed = res, nil
	return nil
}
