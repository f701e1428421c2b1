package rdma

import (
	"context"
	"errors"
	"sync"

	"fileserver/internal/connlimit"
)

// AcceptedConn is a connection of an [Acceptor].
type AcceptedConn interface {
	comparable
	connlimit.Conn
}

// Acceptor accepts connections of type C for a server, as far as the limits allow, and
// ends them. Its methods are safe for concurrent use. Its lock is a leaf: it is not held
// when a function of the caller runs.
type Acceptor[C AcceptedConn] struct {
	limits    *connlimit.Table
	answering sync.WaitGroup // requests being answered

	mu      sync.Mutex
	conns   map[C]*connlimit.Entry
	closing bool
	settled bool          // closing, and no request is being answered any more
	empty   chan struct{} // closed when settled and no connection is left
}

// NewAcceptor makes an acceptor. The limits count the requests that are being answered, too.
func NewAcceptor[C AcceptedConn](limits connlimit.Config) *Acceptor[C] {
	return &Acceptor[C]{limits: connlimit.New(limits), conns: make(map[C]*connlimit.Entry), empty: make(chan struct{})}
}

// Serve accepts connections from ln until ctx ends or ln is closed; it does not
// close ln. open answers each request that the limits allow, on a goroutine of its own. It calls
// [Acceptor.Add] with the entry before anything can end the connection. When open fails, or the acceptor is being
// drained, Serve calls refused and rejects the request. It also rejects requests that the limits do not allow; those are
// reported as the limits' configuration says.
func (a *Acceptor[C]) Serve(ctx context.Context, ln Listener, open func(ID, *connlimit.Entry) error, refused func(ID, error)) error {
	for {
		id, err := ln.Accept(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, ErrClosed) {
				return nil
			}
			return err
		}
		e, err := a.limits.Add(id.RemoteAddr().Addr())
		if err != nil {
			_ = id.Reject(nil) // an error means that the peer has left
			continue
		}
		refuse := func(err error) {
			e.Remove()
			refused(id, err)
			_ = id.Reject(nil)
		}
		if err := a.answer(); err != nil {
			refuse(err)
			continue
		}
		go func() { // it may have to register memory
			defer a.answering.Done()
			if err := open(id, e); err != nil {
				refuse(err)
			}
		}()
	}
}

// answer counts a request that is going to be answered. It fails when the acceptor is being drained.
func (a *Acceptor[C]) answer() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return errors.New("the server is shutting down")
	}
	a.answering.Add(1)
	return nil
}

// Add adds a connection that is about to be accepted. The limits may end it from now on.
func (a *Acceptor[C]) Add(c C, e *connlimit.Entry) {
	a.mu.Lock()
	a.conns[c] = e
	a.mu.Unlock()
	e.Attach(c)
}

// Recheck ends the connections from addresses that are not admitted any more.
func (a *Acceptor[C]) Recheck() { a.limits.Recheck() }

// Remove removes a connection that has ended.
func (a *Acceptor[C]) Remove(c C) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conns[c].Remove()
	delete(a.conns, c)
	if a.settled && len(a.conns) == 0 {
		close(a.empty)
	}
}

// Conns returns the current connections.
func (a *Acceptor[C]) Conns() []C {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]C, 0, len(a.conns))
	for c := range a.conns {
		list = append(list, c)
	}
	return list
}

// Drain refuses new connections, calls begin with each current one, and waits until
// all have ended. If ctx ends first Drain calls end with each remaining connection and
// the cause, waits again, and returns the cause.
func (a *Acceptor[C]) Drain(ctx context.Context, begin func(C), end func(C, error)) error {
	a.mu.Lock()
	a.closing = true
	a.mu.Unlock()
	a.answering.Wait()
	a.mu.Lock()
	if !a.settled {
		a.settled = true
		if len(a.conns) == 0 {
			close(a.empty)
		}
	}
	a.mu.Unlock()
	for _, c := range a.Conns() {
		begin(c)
	}
	select {
	case <-a.empty:
		return nil
	case <-ctx.Done():
	}
	err := context.Cause(ctx)
	for _, c := range a.Conns() {
		end(c, err)
	}
	<-a.empty
	return err
}
