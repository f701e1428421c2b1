package rdma

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Acceptor is what servers have in common: listeners, a bounded number of
// connections, of which C is one, and an end. Its methods are safe for concurrent
// use. Its lock is the last to be taken: no function that is handed in is called with it held.
type Acceptor[C comparable] struct {
	limit     int
	answering sync.WaitGroup // requests being answered

	mu      sync.Mutex
	conns   map[C]struct{}
	closing bool
	settled bool          // closing, and no request is being answered any more
	empty   chan struct{} // closed when settled and no connection is left
}

// NewAcceptor makes an acceptor of at most limit connections; 0: of any number.
func NewAcceptor[C comparable](limit int) *Acceptor[C] {
	return &Acceptor[C]{limit: limit, conns: make(map[C]struct{}), empty: make(chan struct{})}
}

// Serve accepts connections from ln until ctx ends or ln is closed; it does not
// close ln. Each request is answered by open, on a goroutine of its own, which calls
// [Acceptor.Add] before anything can end the connection. When open fails, or there are too
// many connections, refused is told, and the request rejected.
func (a *Acceptor[C]) Serve(ctx context.Context, ln Listener, open func(ID) error, refused func(ID, error)) error {
	for {
		id, err := ln.Accept(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, ErrClosed) {
				return nil
			}
			return err
		}
		refuse := func(err error) {
			refused(id, err)
			_ = id.Reject(nil) // the peer learns it, or has gone
		}
		if err := a.admit(); err != nil {
			refuse(err)
			continue
		}
		go func() { // it may have to register memory
			defer a.answering.Done()
			if err := open(id); err != nil {
				refuse(err)
			}
		}()
	}
}

// admit counts a request that is to be answered, or says why not.
func (a *Acceptor[C]) admit() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closing:
		return errors.New("the server is shutting down")
	case a.limit > 0 && len(a.conns) >= a.limit:
		return fmt.Errorf("there are %d connections, the configured most", len(a.conns))
	}
	a.answering.Add(1)
	return nil
}

// Add takes in a connection that is about to be accepted.
func (a *Acceptor[C]) Add(c C) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conns[c] = struct{}{}
}

// Remove forgets a connection that has ended.
func (a *Acceptor[C]) Remove(c C) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.conns, c)
	if a.settled && len(a.conns) == 0 {
		close(a.empty)
	}
}

// Conns returns the connections of the moment.
func (a *Acceptor[C]) Conns() []C {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]C, 0, len(a.conns))
	for c := range a.conns {
		list = append(list, c)
	}
	return list
}

// Drain refuses new connections, calls begin with each there is, and waits until
// all have ended. When ctx ends first it calls end with each that is left, and the
// reason, which is also the result.
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
