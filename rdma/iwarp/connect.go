package iwarp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

// Connect implements rdma.ID.
func (id *connID) Connect(ctx context.Context, c rdma.ConnParams) error {
	if err := id.enter(false, c, id.p.dev.caps.MaxRequestPrivateData); err != nil {
		return err
	}
	ctx, cancel := id.p.connectTimeout(ctx)
	defer cancel()
	nc, err := id.p.cfg.Dial(ctx, "tcp", id.remote.String())
	if err != nil {
		return id.abandon(nil, ReasonUnreachable, fmt.Errorf("iwarp: %w", err))
	}
	conn := nc.(*net.TCPConn)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(past) })
	req := id.p.policy.request(c)
	reply, err := exchange(conn, &req)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		reason := ReasonMPAMalformed
		var e *Error
		switch {
		case errors.As(err, &e):
			reason = e.Reason
		case isTimeout(err):
			reason, err = ReasonMPATimeout, fmt.Errorf("iwarp: no MPA reply: %w", context.Cause(ctx))
		case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET):
			return id.abandon(conn, ReasonReset, &rdma.RejectedError{Reason: "the peer closed the connection instead of a reply"})
		}
		return id.abandon(conn, reason, err)
	}
	if reply.Reject {
		return id.abandon(conn, ReasonRejected, &rdma.RejectedError{PrivateData: reply.Private, Reason: "the peer's consumer refused"})
	}
	t, bad := id.p.policy.conclude(&req, &reply, c)
	if bad != nil {
		return id.abandon(conn, bad.Reason, bad)
	}
	return id.establish(conn, t, id.p.policy.peerParams(&reply))
}

// exchange sends a request and reads the reply, not a byte more.
func exchange(conn *net.TCPConn, req *mpaFrame) (mpaFrame, error) {
	if _, err := conn.Write(req.append(nil)); err != nil {
		return mpaFrame{}, err
	}
	reply, err := readFrame(conn, true)
	if err != nil || reply.Reject {
		return reply, err
	}
	if e := noMore(conn); e != nil {
		return reply, e
	}
	return reply, nil
}

// readFrame reads a request or reply.
func readFrame(r io.Reader, reply bool) (mpaFrame, error) {
	var buf [mpaHeaderLen + mpaMaxPrivate]byte
	if _, err := io.ReadFull(r, buf[:mpaHeaderLen]); err != nil {
		return mpaFrame{}, err
	}
	f, n, err := parseMPAHeader(buf[:], reply)
	if err == nil {
		if _, err := io.ReadFull(r, buf[mpaHeaderLen:mpaHeaderLen+n]); err != nil {
			return f, err
		}
		err = f.parsePrivate(append([]byte(nil), buf[mpaHeaderLen:mpaHeaderLen+n]...))
	}
	if err != nil {
		reason := ReasonMPAMalformed
		if err == errMPAKey {
			reason = ReasonNotMPA
		}
		return f, &Error{Reason: reason, Err: err}
	}
	return f, nil
}

// noMore checks that nothing follows a frame, RFC 5044 7.1: neither side may
// speak before the initiator's first FPDU, and that comes after the reply.
func noMore(conn *net.TCPConn) *Error {
	n, err := peek(conn, make([]byte, 1))
	switch {
	case n > 0:
		return errorf(ReasonMPAEarlyData, "data behind the MPA frame")
	case err == unix.EAGAIN:
		return nil
	case err == nil:
		return &Error{Reason: ReasonReset, Detail: "the peer closed the connection", Err: io.EOF}
	}
	return &Error{Reason: ReasonReset, Err: err}
}

// peek looks at what can be read at once. 0 and no error: the end of the stream.
func peek(conn *net.TCPConn, b []byte) (n int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	if e := raw.Control(func(fd uintptr) { n, err = peekFD(fd, b) }); e != nil {
		return 0, e
	}
	return n, err
}

func peekFD(fd uintptr, b []byte) (int, error) {
	for {
		n, _, err := unix.Recvfrom(int(fd), b, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// attach gives a queue pair its connection. Nothing flows yet.
func (q *queuePair) attach(conn *net.TCPConn, t terms) error {
	if err := q.id.p.tune(conn); err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	mss := 0
	if e := raw.Control(func(fd uintptr) {
		mss, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG)
		q.tx.fd = fd
	}); e != nil || err != nil {
		return errors.Join(e, err)
	}
	q.terms = t
	q.tx.conn, q.tx.raw, q.tx.crc = conn, raw, t.crc
	q.rx.s.crc = t.crc
	q.tx.fpdu = max(t.fpdu, mss, minFPDU)
	if q.cfg.MaxFPDU != 0 {
		q.tx.fpdu = q.cfg.MaxFPDU
	}
	return nil
}

// open lets requests be posted.
func (q *queuePair) open(passive bool) {
	q.mu.Lock()
	q.state = qpOpen
	q.sq.ord = q.terms.ord
	if !passive && q.terms.rtr != rtrNone {
		e := q.sq.add()
		e.internal, e.op = true, rdma.OpWrite
		e.rkey = 1 // names nothing: no bytes
		if q.terms.rtr == rtrRead {
			e.op = rdma.OpRead
		}
	}
	if !passive {
		q.armRTRTimerLocked()
	}
	q.mu.Unlock()
}

// start lets the queue pair run. Who accepted waits for the peer's first FPDU.
func (q *queuePair) start(passive bool) {
	go func() {
		defer q.id.p.wg.Done()
		q.serve()
	}()
	if !passive {
		q.tx.start()
	}
}

// firstFPDU is called when the peer's first FPDU is in.
func (q *queuePair) firstFPDU() {
	if q.id.passive {
		q.id.established()
		q.tx.start()
		return
	}
	q.mu.Lock()
	q.stopRTRTimerLocked()
	q.mu.Unlock()
}

// disconnect ends the connection once what is posted has been sent.
func (q *queuePair) disconnect() {
	q.mu.Lock()
	first := q.state == qpOpen
	if first {
		q.state = qpClosing
		q.timer = time.AfterFunc(q.cfg.CloseTimeout, func() {
			q.fail(errorf(ReasonCloseTimeout, "not everything posted could be sent in %v", q.cfg.CloseTimeout))
		})
	}
	q.mu.Unlock()
	if !first {
		return
	}
	q.tx.close()
}
