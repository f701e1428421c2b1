package interop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"fileserver/rdma"
)

// client behaves like perftest's clients.
type client struct {
	*rig
	pd            rdma.PD
	control, data *conn
	m             *memory // the control connection's messages, then the data connection's
	theirs        keys
}

const (
	clientRecvs = 8
	creditAt    = 900
	dataAt      = 1024
	clientSize  = 8192
)

func (r *rig) client() *client {
	r.t.Helper()
	c := &client{rig: r}
	id := r.resolve()
	var err error
	if c.pd, err = id.Device().AllocPD(); err != nil {
		r.t.Fatal(err)
	}
	if c.m, err = register(r.ctx, r.pool, c.pd, 64<<10, rdma.AccessLocalWrite|rdma.AccessRemoteWrite); err != nil {
		r.t.Fatal(err)
	}
	c.control = c.dial(id)
	r.check(c.control.recv(0, c.m.sge(0, keysSize)))
	return c
}

func (c *client) dial(id rdma.ID) *conn {
	c.t.Helper()
	k, err := open(id, c.pd, 16, clientRecvs)
	if err != nil {
		c.t.Fatal(err)
	}
	c.check(k.id.Connect(c.ctx, rdma.ConnParams{IRD: 4, ORD: 4, RNRRetry: 7}))
	return k
}

// tell sends a message on the control connection and returns the answer.
func (c *client) tell(msg []byte) []byte {
	c.t.Helper()
	buf := c.m.bytes()[512:]
	n := copy(buf, msg)
	c.check(c.control.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: []rdma.SGE{c.m.sge(512, n)}}}))
	_, err := c.control.wait(c.ctx, rdma.OpSend)
	c.check(err)
	wc, err := c.control.wait(c.ctx, rdma.OpRecv)
	if err != nil {
		c.t.Fatal(err)
	}
	answer := bytes.Clone(c.m.bytes()[:wc.ByteLen])
	c.check(c.control.recv(0, c.m.sge(0, keysSize)))
	if len(answer) != n {
		c.t.Fatalf("%d bytes were answered by %d", n, len(answer))
	}
	return answer
}

// greet exchanges the messages before the test, and makes the data connection between them.
func (c *client) greet() {
	c.t.Helper()
	version := append([]byte("6.06"), make([]byte, 12)...)
	for _, msg := range [][]byte{version, {0, 0, 16, 0}, {0, 0, 0, 64}, {'5', 0}} {
		if a := c.tell(msg); !bytes.Equal(a, msg) {
			c.t.Errorf("%q was answered by %q", msg, a)
		}
	}
	c.tell(keys{}.append(nil))
	c.data = c.dial(c.resolve())
	c.tell(keys{}.append(nil))
	ours := keys{outReads: 4, qpn: c.data.qp.Num(), rkey: c.m.mr.RKey(), addr: c.m.mr.Addr() + creditAt}
	theirs, err := parseKeys(c.tell(ours.append(nil)))
	c.check(err)
	c.theirs = theirs
}

func (c *client) results(size, n uint64) {
	for _, v := range []uint64{size, n, 0, 0, 0} {
		c.tell(binary.BigEndian.AppendUint64(nil, v))
	}
}

// leave ends the data connection, as perftest does, and waits until the server has ended the control connection.
func (c *client) leave() {
	c.t.Helper()
	c.check(c.data.leave(c.ctx))
	if _, err := c.control.wait(c.ctx, rdma.OpRecv); !errors.Is(err, errEnded) {
		c.t.Errorf("the control connection: %v", err)
	}
	c.check(c.control.close())
	c.check(c.data.close())
	c.check(c.m.close())
	c.check(c.pd.Dealloc())
}

// perftest runs the server and a client.
func (r *rig) perftest(test Test, f func(c *client)) PerftestResult {
	r.t.Helper()
	var result PerftestResult
	done := make(chan error, 1)
	go func() {
		var err error
		result, err = Perftest(r.ctx, r.l, PerftestConfig{Test: test, Pool: r.pool, MaxMessage: clientSize, RecvDepth: 16})
		done <- err
	}()
	f(r.client())
	r.check(<-done)
	return result
}

func TestPerftestRDMA(t *testing.T) {
	onEach(t, func(r *rig) {
		got := r.perftest(TestRDMA, func(c *client) {
			c.greet()
			mem := c.m.bytes()[dataAt:][:clientSize]
			c.check(c.data.recv(0, c.m.sge(0, 0))) // fails when the connection ends
			read := rdma.SendWR{Opcode: rdma.OpRead, Flags: rdma.SendSignaled, SGL: []rdma.SGE{c.m.sge(dataAt, clientSize)}, RemoteAddr: c.theirs.addr, RKey: c.theirs.rkey}
			c.check(c.data.qp.PostSend([]rdma.SendWR{read}))
			_, err := c.data.wait(c.ctx, rdma.OpRead)
			c.check(err)
			for i, b := range mem {
				if b != filling(i) {
					c.t.Fatalf("byte %d is %#x", i, b)
				}
			}
			for i := range mem {
				mem[i]++
			}
			read.Opcode = rdma.OpWrite
			c.check(c.data.qp.PostSend([]rdma.SendWR{read}))
			_, err = c.data.wait(c.ctx, rdma.OpWrite)
			c.check(err)
			c.results(clientSize, 1)
			c.tell(keys{}.append(nil))
			c.leave()
		})
		if want := (PerftestResult{Connections: 1, Changed: clientSize, Size: clientSize, Iterations: 1}); got != want {
			t.Errorf("the server's result is %+v, want %+v", got, want)
		}
	})
}

func TestPerftestSend(t *testing.T) {
	const n = 100
	onEach(t, func(r *rig) {
		got := r.perftest(TestSendLat, func(c *client) {
			c.greet()
			c.check(c.data.recv(0, c.m.sge(dataAt, clientSize)))
			for i := range n {
				mem := c.m.bytes()[dataAt+clientSize:][:100]
				mem[i] = byte(i + 1)
				c.check(c.data.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpSend, SGL: []rdma.SGE{c.m.sge(dataAt+clientSize, 100)}, Flags: rdma.SendSignaled}}))
				wc, err := c.data.wait(c.ctx, rdma.OpRecv)
				if err != nil || !bytes.Equal(c.m.bytes()[dataAt:][:wc.ByteLen], mem) {
					c.t.Fatalf("the answer to message %d: %d bytes, %v", i, wc.ByteLen, err)
				}
				c.check(c.data.recv(0, c.m.sge(dataAt, clientSize)))
				_, err = c.data.wait(c.ctx, rdma.OpSend)
				c.check(err)
			}
			c.leave()
		})
		if want := (PerftestResult{Connections: 1, Received: n, Bytes: n * 100, Answered: n}); got != want {
			t.Errorf("the server's result is %+v, want %+v", got, want)
		}
	})
}

// TestPerftestCredits wants credits for a client that runs a bandwidth test on iWARP.
func TestPerftestCredits(t *testing.T) {
	const n = 1000
	onEach(t, func(r *rig) {
		var told uint32
		got := r.perftest(TestSendBW, func(c *client) {
			c.greet()
			c.check(c.data.recv(0, c.m.sge(0, 0)))
			credit := c.m.bytes()[creditAt:][:4]
			for i := range uint32(n) {
				for !c.data.id.Device().Caps().RNR && i-told >= 16 {
					if told = binary.LittleEndian.Uint32(credit); c.ctx.Err() != nil {
						c.t.Fatalf("%d messages sent, %d credited", i, told)
					}
					time.Sleep(50 * time.Microsecond)
				}
				c.check(c.data.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpSend, SGL: []rdma.SGE{c.m.sge(dataAt, clientSize)}, Flags: rdma.SendSignaled}}))
				if _, err := c.data.wait(c.ctx, rdma.OpSend); err != nil {
					c.t.Fatalf("message %d of %d credited: %v", i, told, err)
				}
			}
			c.tell(keys{}.append(nil))
			c.leave()
		})
		if got.Received != n || got.Bytes != n*clientSize {
			t.Errorf("the server's result is %+v", got)
		}
		if iwarp := told > 0; iwarp != (got.Credits > 0) {
			t.Errorf("the server sent %d credits, and the client received %d", got.Credits, told)
		}
	})
}

// TestPerftestLeaves wants an error if the client leaves without a data connection.
func TestPerftestLeaves(t *testing.T) {
	onEach(t, func(r *rig) {
		done := make(chan error, 1)
		go func() {
			_, err := Perftest(r.ctx, r.l, PerftestConfig{Pool: r.pool})
			done <- err
		}()
		c := r.client()
		c.check(c.control.leave(c.ctx))
		if err := <-done; err == nil || !strings.Contains(err.Error(), "no data connection") {
			t.Errorf("Perftest: %v", err)
		}
		c.check(c.control.close())
		c.check(c.m.close())
		c.check(c.pd.Dealloc())
	})
}
