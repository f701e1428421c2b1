package rdma_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

// TestEndIfStalled: a READ that nobody answers, or a SEND that nobody takes, ends the connection after the time given.
func TestEndIfStalled(t *testing.T) {
	for name, begin := range map[string]func(c, s *side, d *mem.Device){
		"READ": func(c, s *side, d *mem.Device) {
			d.HoldReads()
			src := c.buf(100)
			dst := s.buf(100)
			_ = s.ep.Read(dst, 0, []rdma.Segment{c.segment(src, 0, 100)}, done(func(err error) {
				if !errors.Is(err, rdma.ErrStalled) && err == nil {
					s.t.Errorf("the READ ended with %v", err)
				}
				src.Release()
				dst.Release()
			}))
		},
		"SEND": func(_, s *side, d *mem.Device) {
			d.Inject(mem.Fault{At: mem.AtWork, Op: []rdma.Opcode{rdma.OpSend}, Delay: time.Hour})
			_ = s.ep.Queue(s.message(10))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s, p := pair(t, pairConfig{})
				begin(c, s, p.Device(0))
				time.Sleep(time.Hour / 2) // nobody wants it to end
				began := time.Now()
				s.ep.EndIfStalled(3 * time.Second)
				s.ep.EndIfStalled(time.Hour)
				<-s.ep.Done()
				if d := time.Since(began); d < 3*time.Second || d > 6*time.Second {
					t.Errorf("ended after %v", d)
				}
				if err := s.end(); !errors.Is(err, rdma.ErrStalled) {
					t.Errorf("ended with %v", err)
				}
				_ = c.end()
			})
		})
	}
}

// TestEndIfStalledLetsBe: who is idle, or slow, is not ended.
func TestEndIfStalledLetsBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, p := pair(t, pairConfig{send: 2, recv: 16})
		s.ep.EndIfStalled(3 * time.Second)
		time.Sleep(time.Minute + 2999*time.Millisecond)
		p.Device(0).Inject(mem.Fault{At: mem.AtWork, Times: -1, Delay: 2900 * time.Millisecond})
		for i := range 10 {
			if err := s.ep.Queue(s.message(1 + i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 10 {
			b := <-c.got
			if b.Len() != 1+i {
				t.Errorf("message %d has %d bytes", i, b.Len())
			}
			b.Release()
		}
		p.Device(0).Heal()
		time.Sleep(time.Minute)
		endBoth(t, c, s)
	})
}
