package iwarp

import (
	"fmt"
	"net"
	"time"

	"fileserver/rdma"
)

// Accept implements rdma.ID.
func (id *connID) Accept(c rdma.ConnParams) error {
	if err := id.enter(true, c, id.p.dev.caps.MaxReplyPrivateData); err != nil {
		return err
	}
	reply, t, bad := id.p.policy.answer(&id.req, c)
	if bad != nil {
		f := refusal(&id.req, nil)
		_, _ = id.conn.Write(f.append(nil))
		return id.abandon(id.conn, bad.Reason, bad)
	}
	if err := noMore(id.conn); err != nil {
		return id.abandon(id.conn, err.Reason, err)
	}
	if err := send(id.conn, &reply, id.p.cfg.ReplyTimeout); err != nil {
		return id.abandon(id.conn, ReasonReset, fmt.Errorf("iwarp: %w", err))
	}
	return id.establish(id.conn, t, id.peer)
}

// Reject implements rdma.ID.
func (id *connID) Reject(private []byte) error {
	id.mu.Lock()
	if !id.passive || id.state != idNew || id.closed {
		id.mu.Unlock()
		return rdma.ErrNotConnected
	}
	if limit := id.p.dev.caps.MaxReplyPrivateData; len(private) > limit {
		id.mu.Unlock()
		return fmt.Errorf("iwarp: %d bytes of private data, at most %d", len(private), limit)
	}
	conn := id.conn
	id.state, id.conn = idOver, nil
	id.mu.Unlock()
	id.p.stats.refused(ReasonRejected)
	f := refusal(&id.req, private)
	err := send(conn, &f, id.p.cfg.ReplyTimeout)
	id.p.hangUp(conn)
	id.flushUnconnected()
	id.finalEvent(rdma.Event{Type: rdma.EventDisconnected})
	if e := id.Close(); err == nil {
		err = e
	}
	return err
}

// send writes a reply within limit.
func send(conn *net.TCPConn, f *mpaFrame, limit time.Duration) error {
	_ = conn.SetWriteDeadline(time.Now().Add(limit))
	_, err := conn.Write(f.append(nil))
	return err
}
