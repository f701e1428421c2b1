package interop

import (
	"context"
	"errors"
	"sync"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// Test is what the client of a [Perftest] server runs.
type Test uint8

// Tests. The client does not tell which it is.
const (
	TestRDMA    Test = iota // ib_read_lat, ib_read_bw, ib_write_bw
	TestSendLat             // ib_send_lat: each message is answered
	TestSendBW              // ib_send_bw
)

// PerftestConfig sizes a server.
type PerftestConfig struct {
	Test Test
	Pool *slab.Pool
	// MaxMessage is the largest message or buffer, bytes (the client's -s); 0: 64 KiB.
	MaxMessage int
	// RecvDepth is how many RECVs are posted for each data connection, at least the
	// client's -r; 0: 512, which is perftest's.
	RecvDepth int
}

// PerftestResult is what a server has seen of a client.
type PerftestResult struct {
	Connections int   // for data
	Received    int64 // messages
	Bytes       int64 // in them
	Answered    int64 // messages sent, of as many bytes
	Credits     int64 // RDMA WRITEs that told an iWARP client of ib_send_bw what has arrived
	Changed     int   // bytes of the buffer that the peer may WRITE which are not as they were
	// What the client said of itself, at the end of a test of bandwidth: bytes, and how many times.
	Size, Iterations uint64
}

// session is one client: the connection on which the two sides agree, and those for data.
type session struct {
	cfg  PerftestConfig
	pd   rdma.PD
	open *memory // to the peer: what it READs and WRITEs

	mu      sync.Mutex // guards the rest
	keys    []keys     // that the client has sent
	numbers []uint64   // likewise
	live    int        // data connections
	result  PerftestResult
}

// Perftest waits for a client of perftest that was given -R, and serves it until it
// has ended its connections for data, which must come to the same listener.
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
		err = errors.New("interop: perftest: the client has made no connection for data")
	}
	return s.result, errors.Join(err, s.open.close(), s.pd.Dealloc())
}

// filling is what the memory that the client may READ and WRITE has at first.
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

// run serves the first connection, and those that come while it lives.
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
					_ = first.Disconnect() // which the client does not do
				}
				return err
			})
		}
	})
	wg.Wait()
	return errors.Join(errs...)
}

// ended counts what a data connection has done, and says whether it was the last.
func (s *session) ended(k *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.result
	r.Received, r.Bytes = r.Received+int64(k.received), r.Bytes+k.bytes
	r.Answered, r.Credits = r.Answered+int64(k.answered), r.Credits+int64(k.credits)
	s.live--
	return s.live == 0
}
