package rdmatest

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

// This file tests the suite: a provider with one fault must fail, and in the test
// that is about it. Each faulty provider has a process of its own, because a failed
// subtest cannot be made up for.

const mutantEnv = "RDMATEST_MUTANT"

// mutants are the faults, and the tests that must find them.
var mutants = map[string]string{
	"":                "", // the wrapper alone passes
	"short send":      "Send",
	"stray write":     "Write",
	"stray read":      "Read",
	"lax rights":      "Protection",
	"lax sink":        "LocalProtection",
	"no invalidation": "Invalidate",
	"no refusal":      "Unsupported",
	"lost flush":      "FlushLocal",
	"double flush":    "FlushRemote",
	"no last event":   "FlushLocal",
	"second event":    "FlushLocal",
	"private data":    "PrivateData",
	"plain rejection": "Reject",
	"too many reads":  "Negotiation",
	"deaf to context": "ConnectCancelled",
	"success":         "NoReceive",
	"wrong number":    "Unsignalled",
	"posts too late":  "FlushRemote",
}

func TestMutant(t *testing.T) {
	name := os.Getenv(mutantEnv)
	if name != "" {
		patience = time.Second / 2
	}
	Run(t, func(*testing.T) Harness {
		return Harness{Provider: &mutant{Provider: mem.New(mem.Config{}), fault: name}}
	})
}

func TestSuiteFindsFaults(t *testing.T) {
	for fault, test := range mutants {
		if fault == "" {
			continue
		}
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestMutant$/^"+test+"$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), mutantEnv+"="+fault)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestMutant/"+test) {
				t.Errorf("%s does not find the fault: %v\n%s", test, err, out)
			}
		})
	}
}

type mutant struct {
	rdma.Provider
	fault string
}

type (
	mutantListener struct {
		rdma.Listener
		m *mutant
	}
	mutantDevice struct {
		rdma.Device
		m *mutant
	}
	mutantPD struct {
		rdma.PD
		m *mutant
	}
	mutantCQ struct {
		rdma.CQ
		m *mutant
	}
	mutantQP struct {
		rdma.QP
		m *mutant
	}
	mutantID struct {
		rdma.ID
		m      *mutant
		events chan rdma.Event
	}
)

func (m *mutant) Devices() ([]rdma.Device, error) {
	d, err := m.Provider.Devices()
	for i := range d {
		d[i] = mutantDevice{d[i], m}
	}
	return d, err
}

func (m *mutant) Listen(ctx context.Context, a netip.AddrPort) (rdma.Listener, error) {
	l, err := m.Provider.Listen(ctx, a)
	return mutantListener{l, m}, err
}

func (m *mutant) Resolve(ctx context.Context, a netip.AddrPort) (rdma.ID, error) {
	id, err := m.Provider.Resolve(ctx, a)
	return m.id(id), err
}

func (l mutantListener) Accept(ctx context.Context) (rdma.ID, error) {
	id, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return l.m.id(id), nil
}

func (d mutantDevice) AllocPD() (rdma.PD, error) {
	pd, err := d.Device.AllocPD()
	return mutantPD{pd, d.m}, err
}

func (d mutantDevice) CreateCQ(n int) (rdma.CQ, error) {
	cq, err := d.Device.CreateCQ(n)
	return mutantCQ{cq, d.m}, err
}

func (p mutantPD) RegMR(b []byte, a rdma.Access) (rdma.MR, error) {
	switch {
	case p.m.fault == "lax rights" && a&^local != 0:
		a = remote
	case p.m.fault == "lax sink":
		a |= local
	}
	return p.PD.RegMR(b, a)
}

func (q mutantCQ) Poll(wc []rdma.WC) int {
	n := q.CQ.Poll(wc)
	for i := 0; i < n; i++ {
		w := &wc[i]
		switch {
		case q.m.fault == "lost flush" && w.Status == rdma.StatusWRFlushErr && w.ID == 3:
			n--
			copy(wc[i:], wc[i+1:])
		case q.m.fault == "double flush" && w.Status == rdma.StatusWRFlushErr && w.ID == 15:
			wc[n] = *w
			return n + 1
		case q.m.fault == "success":
			w.Status = rdma.StatusSuccess
		case q.m.fault == "wrong number":
			w.QPN++
		}
	}
	return n
}

func (q mutantQP) PostSend(wrs []rdma.SendWR) error {
	for i := range wrs {
		w := &wrs[i]
		n := len(w.SGL)
		switch {
		case q.m.fault == "short send" && w.Opcode == rdma.OpSend && n > 0 && w.SGL[0].Length > 1000:
			w.SGL[0].Length--
		case q.m.fault == "stray write" && w.Opcode == rdma.OpWrite && w.SGL[0].Length > 5000:
			w.RemoteAddr++
		case q.m.fault == "stray read" && w.Opcode == rdma.OpRead && w.SGL[0].Length > 5000:
			w.SGL[0].Addr++
		case q.m.fault == "no invalidation" && w.Opcode == rdma.OpSendInvalidate:
			w.Opcode = rdma.OpSend
		}
	}
	err := q.QP.PostSend(wrs)
	switch {
	case q.m.fault == "no refusal" && errors.Is(err, rdma.ErrUnsupported):
		return nil
	case q.m.fault == "posts too late" && errors.Is(err, rdma.ErrNotConnected):
		return nil
	}
	return err
}

func (m *mutant) id(id rdma.ID) rdma.ID {
	if id == nil {
		return nil
	}
	out := &mutantID{ID: id, m: m, events: make(chan rdma.Event, 3)}
	if m.fault == "no last event" || m.fault == "second event" {
		go func() {
			for ev := range id.Events() {
				if ev.Type == rdma.EventEstablished || m.fault == "second event" {
					out.events <- ev
				}
				if ev.Type != rdma.EventEstablished && m.fault == "second event" {
					out.events <- ev
				}
			}
			close(out.events)
		}()
	}
	return out
}

func (d *mutantID) Device() rdma.Device { return mutantDevice{d.ID.Device(), d.m} }

func (d *mutantID) Events() <-chan rdma.Event {
	if d.m.fault == "no last event" || d.m.fault == "second event" {
		return d.events
	}
	return d.ID.Events()
}

func (d *mutantID) CreateQP(pd rdma.PD, c rdma.QPConfig) (rdma.QP, error) {
	c.SendCQ, c.RecvCQ = c.SendCQ.(mutantCQ).CQ, c.RecvCQ.(mutantCQ).CQ
	qp, err := d.ID.CreateQP(pd.(mutantPD).PD, c)
	return mutantQP{qp, d.m}, err
}

func (d *mutantID) Remote() rdma.ConnParams {
	p := d.ID.Remote()
	if n := len(p.PrivateData); d.m.fault == "private data" && n > 100 {
		p.PrivateData = p.PrivateData[:n-1]
	}
	return p
}

func (d *mutantID) Negotiated() (ird, ord int) {
	ird, ord = d.ID.Negotiated()
	if d.m.fault == "too many reads" {
		ord++
	}
	return ird, ord
}

func (d *mutantID) Connect(ctx context.Context, p rdma.ConnParams) error {
	if d.m.fault == "deaf to context" {
		ctx = context.WithoutCancel(ctx)
		go func() { // so that the test ends
			time.Sleep(patience)
			d.ID.Close()
		}()
	}
	err := d.ID.Connect(ctx, p)
	var r *rdma.RejectedError
	if d.m.fault == "plain rejection" && errors.As(err, &r) {
		return errors.New("no")
	}
	return err
}
