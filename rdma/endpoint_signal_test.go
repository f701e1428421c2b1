package rdma_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

// overheard is an ID whose queue pair notes what is posted: opcode, bytes and whether a completion is asked for.
type overheard struct {
	rdma.ID
	mu   *sync.Mutex
	note *[]string
}

func (o overheard) CreateQP(pd rdma.PD, c rdma.QPConfig) (rdma.QP, error) {
	qp, err := o.ID.CreateQP(pd, c)
	return overheardQP{qp, o}, err
}

type overheardQP struct {
	rdma.QP
	o overheard
}

func (q overheardQP) PostSend(wrs []rdma.SendWR) error {
	q.o.mu.Lock()
	for _, wr := range wrs {
		n := 0
		for _, s := range wr.SGL {
			n += int(s.Length)
		}
		*q.o.note = append(*q.o.note, fmt.Sprint(wr.Opcode == rdma.OpWrite, n, wr.Flags&rdma.SendSignaled != 0))
	}
	q.o.mu.Unlock()
	return q.QP.PostSend(wrs)
}

// TestSignalFrom: a device that lends memory to the network until requests have completed gets to say when that is.
func TestSignalFrom(t *testing.T) {
	for from, want := range map[int]string{
		0:    "[true 3999 false true 4000 false false 10 true]",
		4000: "[true 3999 false true 4000 true false 10 true]",
	} {
		caps := mem.DefaultCaps()
		caps.SignalFrom = from
		var mu sync.Mutex
		var note []string
		c, s, _ := pair(t, pairConfig{
			provider: mem.Config{Devices: []mem.DeviceConfig{{Caps: caps}}},
			wrap:     func(id rdma.ID) rdma.ID { return overheard{id, &mu, &note} },
		})
		target := s.buf(8000)
		op := c.message(10)
		for _, n := range []int{3999, 4000} {
			if err := op.Write(c.buf(n), 0, n, []rdma.Segment{s.segment(target, 0, n)}); err != nil {
				t.Fatal(err)
			}
		}
		came := make(chan error, 2)
		op.OnDone(done(func(err error) { came <- err }))
		if err := c.ep.Post(context.Background(), op); err != nil {
			t.Fatal(err)
		}
		if err := <-came; err != nil {
			t.Error(err)
		}
		mu.Lock()
		if got := fmt.Sprint(note); got != want {
			t.Errorf("from %d: %s, want %s", from, got, want)
		}
		mu.Unlock()
		c.ep.Disconnect(nil)
		target.Release()
		if err := errors.Join(c.end(), s.end()); err != nil {
			t.Error(err)
		}
	}
}
