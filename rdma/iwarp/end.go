package iwarp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

// fail ends the connection; of several reasons the first counts. It may be called
// from anywhere, holding any lock; the receiver's goroutine does the work.
func (q *queuePair) fail(e *Error) {
	if q.cause.CompareAndSwap(nil, e) {
		_ = q.tx.conn.SetReadDeadline(past)
	}
}

// cause returns why the connection failed; rx is the receiver's error.
func (t *transmitter) cause(rx error) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return socketError(t.err)
	}
	return socketError(rx)
}

// serve is the receiver's goroutine: it receives, and ends the connection.
func (q *queuePair) serve() {
	q.rx.run()
	q.finish(q.cause.Load())
	q.hangUp(q.cause.Load().Reason)
}

// finish flushes the queues and sends the last event. Afterwards no buffer is used any more.
func (q *queuePair) finish(e *Error) {
	var term *terminate
	if code, ok := e.Reason.terminates(); ok {
		term = &terminate{TerminateCode: code}
		if e.Reason != ReasonLocalRequest {
			term.offender, term.length = q.rx.s.offender()
		}
	}
	if q.tx.abort(term) {
		e = &Error{Reason: e.Reason, Detail: e.Detail, Err: e.Err, Terminate: &term.TerminateCode}
		q.stats.terminatesSent.Add(1)
	}
	if e.Reason == ReasonTerminated {
		q.stats.terminatesReceived.Add(1)
	}
	q.stats.ended(e.Reason)
	q.log(e)

	q.mu.Lock()
	q.state = qpEnded
	if q.timer != nil {
		q.timer.Stop()
	}
	q.stopRTRTimerLocked()
	q.setTerminatedReadStatusLocked()
	q.sq.flush()
	q.reads = readQueue{}
	q.mu.Unlock()
	q.rq.flush(q.rx.in.recvErr)
	close(q.flushed)
	q.id.ended(e)
}

// setTerminatedReadStatusLocked sets the status of the READ that the peer's Terminate names.
func (q *queuePair) setTerminatedReadStatusLocked() {
	t := q.rx.in.termSeen
	if t == nil || t.Layer != 0 || len(t.offender) < untaggedLen {
		return
	}
	var s segment
	if s.parse(t.offender, t.length) != 0 || s.op != opReadRequest {
		return
	}
	for i := range q.sq.orq.Len() {
		if e := *q.sq.orq.At(i); e.msn == s.msn {
			e.status = rdma.StatusRemOpErr
			if t.EType == 1 {
				e.status = rdma.StatusRemAccessErr
			}
		}
	}
}

func (q *queuePair) log(e *Error) {
	level := slog.LevelDebug
	if !e.Reason.inOrder() {
		level = slog.LevelWarn
	}
	q.cfg.Log.LogAttrs(context.Background(), level, "iwarp connection ended",
		slog.Any("remote", q.id.RemoteAddr()), slog.String("reason", e.Reason.String()), slog.Any("err", e))
}

// hangUp closes the TCP connection so that the peer gets all data sent: a close with
// unread bytes would reset the connection.
func (q *queuePair) hangUp(r Reason) {
	conn := q.tx.conn
	switch r {
	case ReasonPeerClosed, ReasonTerminated, ReasonTruncated, ReasonReset, ReasonUnreachable:
	case ReasonStalled, ReasonCloseTimeout, ReasonRegionGone:
		_ = conn.SetLinger(0)
	default:
		drain(conn, q.cfg.CloseTimeout)
	}
	_ = conn.Close()
}

// drain ends our side of a connection and waits for the peer to end its own.
func drain(conn *net.TCPConn, limit time.Duration) {
	if conn.CloseWrite() != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(limit))
	buf := make([]byte, 8<<10)
	for {
		if _, err := conn.Read(buf); err != nil {
			return
		}
	}
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// socketError names the reason for an error of TCP.
func socketError(err error) *Error {
	switch {
	case errors.Is(err, unix.ETIMEDOUT), errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ENETUNREACH):
		return &Error{Reason: ReasonUnreachable, Err: err}
	case errors.Is(err, io.EOF):
		return &Error{Reason: ReasonPeerClosed}
	}
	return &Error{Reason: ReasonReset, Err: err}
}

func describeTagged(s *segment) string {
	return fmt.Sprintf("opcode %d, STag %#x, TO %#x, %d bytes", s.op, s.stag, s.to, s.length)
}

func describeUntagged(s *segment) string {
	return fmt.Sprintf("opcode %d, QN %d, MSN %d, MO %d, %d bytes", s.op, s.qn, s.msn, s.mo, s.length)
}
