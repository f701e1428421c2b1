package interop

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
	"fileserver/rdma/rdmatest/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a listening provider, and the memory of both sides.
type rig struct {
	t    *testing.T
	ctx  context.Context
	p    rdma.Provider
	l    rdma.Listener
	pool *slab.Pool
}

// onEach runs a test with each provider that needs no RDMA device.
func onEach(t *testing.T, f func(r *rig)) {
	for name, open := range map[string]func() (rdma.Provider, error){
		"iwarp": func() (rdma.Provider, error) { return iwarp.New(iwarp.Config{}) },
		"mem, like RoCE": func() (rdma.Provider, error) {
			return mem.New(mem.Config{Devices: []mem.DeviceConfig{{Caps: mem.RoCECaps()}}}), nil
		},
		"mem, like an iWARP adapter": func() (rdma.Provider, error) {
			return mem.New(mem.Config{Devices: []mem.DeviceConfig{{Caps: mem.AdapterCaps()}}}), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rig{t: t, pool: slab.New(slab.Config{Debug: true})}
			var cancel context.CancelFunc
			r.ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var err error
			if r.p, err = open(); err != nil {
				t.Fatal(err)
			}
			if c, ok := r.p.(interface{ Close() error }); ok {
				defer func() { r.check(c.Close()) }()
			}
			at := netip.AddrPort{}
			if r.p.Name() == "iwarp" {
				at = netip.MustParseAddrPort("127.0.0.1:0")
			}
			if r.l, err = r.p.Listen(r.ctx, at); err != nil {
				t.Fatal(err)
			}
			f(r)
			r.check(r.l.Close())
			if leaks := r.pool.Leaks(); len(leaks) > 0 {
				t.Errorf("buffers leak: %v", leaks)
			}
			r.check(r.pool.Close())
		})
	}
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Error(err)
	}
}

func (r *rig) resolve() rdma.ID {
	r.t.Helper()
	id, err := r.p.Resolve(r.ctx, r.l.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// serve runs ServeRping for the next client.
func (r *rig) serve() (wait func() (RpingResult, error)) {
	var result RpingResult
	done := make(chan error, 1)
	go func() {
		id, err := r.l.Accept(r.ctx)
		if err == nil {
			result, err = ServeRping(r.ctx, id, r.pool)
		}
		done <- err
	}()
	return func() (RpingResult, error) { err := <-done; return result, err }
}

func TestRping(t *testing.T) {
	onEach(t, func(r *rig) {
		for _, size := range []int{RpingMin, 24, 1000, RpingMax, 1 << 20} {
			wait := r.serve()
			got, err := Rping(r.ctx, r.resolve(), r.pool, 20, size)
			if want := (RpingResult{20, 20 * int64(size)}); err != nil || got != want {
				t.Errorf("size %d: client: %+v, %v", size, got, err)
			}
			if s, err := wait(); err != nil || s != got {
				t.Errorf("size %d: server: %+v, %v", size, s, err)
			}
		}
	})
}

// faultyServer is an rping server that answers with fail, which does not move the data.
func (r *rig) faultyServer(fail func(p *pinger) error) <-chan error {
	done := make(chan error, 1)
	go func() {
		id, err := r.l.Accept(r.ctx)
		if err != nil {
			done <- err
			return
		}
		p, err := newPinger(r.ctx, id, r.pool, 1000, rdma.AccessLocalWrite)
		if err == nil {
			err = errors.Join(p.accept(), fail(p), p.close())
		}
		done <- err
	}()
	return done
}

// TestRpingFails wants errors from a client whose server does not move the data, and from a server whose client breaks the protocol.
func TestRpingFails(t *testing.T) {
	onEach(t, func(r *rig) {
		for want, fail := range map[string]func(p *pinger) error{
			"bytes that came back differ": func(p *pinger) error {
				for range 2 {
					if _, err := p.hear(r.ctx); err != nil {
						return err
					}
					if err := p.say(r.ctx); err != nil {
						return err
					}
				}
				_, err := p.hear(r.ctx)
				return ended(err)
			},
			"within a round": func(p *pinger) error {
				_, err := p.hear(r.ctx)
				return errors.Join(err, p.leave(r.ctx))
			},
		} {
			done := r.faultyServer(fail)
			if got, err := Rping(r.ctx, r.resolve(), r.pool, 3, 100); err == nil || !strings.Contains(err.Error(), want) || got.Rounds != 0 {
				t.Errorf("%+v, %v; want %s", got, err, want)
			}
			r.check(<-done)
		}
		if _, err := Rping(r.ctx, r.resolve(), r.pool, 3, RpingMin-1); err == nil {
			t.Error("a size below rping's minimum was accepted")
		}
		// The server must refuse a buffer that is too large and a message of the wrong length.
		for _, n := range []int{infoSize, infoSize - 1} {
			wait := r.serve()
			p, err := newPinger(r.ctx, r.resolve(), r.pool, 100, rdma.AccessLocalWrite)
			if err != nil {
				t.Fatal(err)
			}
			r.check(p.id.Connect(r.ctx, rdma.ConnParams{IRD: 1, ORD: 1}))
			appendInfo(p.m.bytes()[infoSize:infoSize], rdma.Segment{Length: rpingLimit})
			r.check(p.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpSend, SGL: []rdma.SGE{p.m.sge(infoSize, n)}}}))
			if _, err := wait(); err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a message of %d bytes: %v", n, err)
			}
			r.check(p.close())
		}
	})
}

func ended(err error) error {
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}
