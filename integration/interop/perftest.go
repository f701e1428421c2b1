package interop

import (
	"context"
	"errors"
	"sync"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// Test is the test that the client of a [Perftest] server runs.
type Test uint8

// Tests. The client does not say which one it runs, so the caller must.
const (
	TestRDMA    Test = iota // ib_read_lat, ib_read_bw, ib_write_bw
	TestSendLat             // ib_send_lat: the server answers each message
	TestSendBW              // ib_send_bw
)

// PerftestConfig configures a server.
type PerftestConfig struct {
	Test Test
	Pool *slab.Pool
	// MaxMessage is the size of the largest message or buffer in bytes (the client's -s); 0: 64 KiB.
	MaxMessage int
	// RecvDepth is the number of RECVs posted for each data connection. It must be at
	// least the client's -r; 0: 512, which is perftest's default.
	RecvDepth int
}

// PerftestResult holds what a server has received from and sent to a client.
type PerftestResult struct {
	Connections int   // data connections
	Received    int64 // messages received
	Bytes       int64 // bytes in them
	Answered    int64 // messages sent, each as long as the one received
	Credits     int64 // RDMA WRITEs that told an iWARP client of ib_send_bw how much has arrived
	Changed     int   // bytes that the peer has changed in the buffer that it may WRITE
	// The client's report at the end of a bandwidth test: bytes per message, and number of messages.
	Size, Iterations uint64
}

// session is one client: its control connection, on which the two sides exchange parameters, and its data connections.
type session struct {
	cfg  PerftestConfig
	pd   rdma.PD
	open *memory // that the peer may READ and WRITE

	mu      sync.Mutex // guards the fields below
	keys    []keys     // that the client has sent
	numbers []uint64   // that the client has sent
	live    int        // open data connections
	result  PerftestResult
}

// Perftest waits for a perftest client that runs with -R, and serves it until the
// client has ended its data connections. They must come to the same listener.
func Perftest(ctx context.Context, l rdma.Listener, cfg PerftestConfig) (PerftestResult, error) {
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = 64 << 10
	}
	if cfg.RecvDepth == 0 {
		cfg.RecvDepth = 512
	}
	id, err := l.Accept(ctx)
	if err != nil {
		return PerftestResult{}, err
	}
	s := &session{cfg: cfg}
	if s.pd, err = id.Device().AllocPD(); err != nil {
		return s.result, errors.Join(err, id.Close())
	}
	if s.open, err = s.offer(ctx); err != nil {
		return s.result, errors.Join(err, id.Close(), s.pd.Dealloc())
	}
	err = s.run(ctx, l, id)
	for i, b := range s.open.bytes() {
		if b != filling(i) {
			s.result.Changed++
		}
	}
	if len(s.numbers) > 1 {
		s.result.Size, s.result.Iterations = s.numbers[0], s.numbers[1]
	}
	if err == nil && s.result.Connections == 0 {
		err = errors.New("interop: perftest: the client has made no data connection")
	}
	return s.result, errors.Join(err, s.open.close(), s.pd.Dealloc())
}

// filling returns the initial byte i of the memory that the client may READ and WRITE.
func filling(i int) byte { return byte(i>>8 ^ i) }

func (s *session) offer(ctx context.Context) (*memory, error) {
	m, err := register(ctx, s.cfg.Pool, s.pd, max(s.cfg.MaxMessage, 64<<10), rdma.AccessLocalWrite|rdma.AccessRemoteRead|rdma.AccessRemoteWrite)
	if err != nil {
		return nil, err
	}
	for i := range m.bytes() {
		m.bytes()[i] = filling(i)
	}
	return m, nil
}

// run serves the control connection, and the data connections that come while it is open.
func (s *session) run(ctx context.Context, l rdma.Listener, first rdma.ID) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	accepting, stop := context.WithCancel(ctx)
	defer stop()
	var errs []error // guarded by mu
	var wg sync.WaitGroup
	do := func(f func() error) {
		wg.Go(func() {
			if err := f(); err != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				errs = append(errs, err)
				cancel()
			}
		})
	}
	do(func() error {
		defer stop()
		k := &link{session: s, size: keysSize}
		return k.serve(ctx, first, 4, k.agree)
	})
	do(func() error {
		for {
			id, err := l.Accept(accepting)
			if err != nil {
				if accepting.Err() != nil {
					err = nil
				}
				return err
			}
			if id.RemoteAddr().Addr() != first.RemoteAddr().Addr() || id.Device().Name() != first.Device().Name() {
				_ = id.Reject(nil) // one client at a time
				continue
			}
			s.mu.Lock()
			k := &link{session: s, size: s.cfg.MaxMessage, index: s.result.Connections}
			s.result.Connections++
			s.live++
			s.mu.Unlock()
			do(func() error {
				err := k.serve(ctx, id, s.cfg.RecvDepth, k.data)
				if s.ended(k) {
					_ = first.Disconnect() // the client does not
				}
				return err
			})
		}
	})
	wg.Wait()
	return errors.Join(errs...)
}

// ended adds a data connection's counts to the result, and reports whether it was the last one.
func (s *session) ended(k *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.result
	r.Received, r.Bytes = r.Received+int64(k.received), r.Bytes+k.bytes
	r.Answered, r.Credits = r.Answered+int64(k.answered), r.Credits+int64(k.credits)
	s.live--
	return s.live == 0
}
