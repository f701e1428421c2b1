package smb

import (
	"encoding/binary"
	"testing"
	"time"

	"fileserver/smb/crypt"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// record keeps what a client sends.
type record struct {
	smbtest.Wire
	sent []byte
}

func (r *record) Send(msg []byte) error {
	r.sent = append(binary.LittleEndian.AppendUint32(r.sent, uint32(len(msg))), msg...)
	return r.Wire.Send(msg)
}

// sessions are the bytes that clients send to log in.
func sessions(t testing.TB, e *env) (all [][]byte) {
	for _, d := range allDialects {
		c := e.client()
		r := &record{Wire: c.W}
		c.W = r
		c.Ciphers = []crypt.Cipher{crypt.GCM128, crypt.CCM256}
		c.SignAlgs = []crypt.Algorithm{crypt.AESGMAC, crypt.AESCMAC}
		c.Connect(d)
		c.MustLogin("ann", "secret")
		c.Tree(`\\s\data`, wire.StatusSuccess)
		c.Send(c.Message(echo(nil), echo(nil)))
		c.Recv()
		c.W.Close()
		all = append(all, r.sent)
	}
	return all
}

// settled waits until nothing is left of any connection.
func (e *env) settled() {
	e.t.Helper()
	for end := time.Now().Add(smbtest.Timeout); ; time.Sleep(100 * time.Microsecond) {
		e.srv.mu.Lock()
		conns, sessions := len(e.srv.conns), len(e.srv.sessions)
		e.srv.mu.Unlock()
		if conns == 0 && sessions == 0 && e.pool.Stats().Buffers == 0 {
			return
		}
		if time.Now().After(end) {
			e.t.Fatalf("%d connections, %d sessions, leaks: %v", conns, sessions, e.pool.Leaks())
		}
	}
}

// FuzzConn sends whatever it likes, as messages each behind its length, to a connection nobody has logged in on.
func FuzzConn(f *testing.F) {
	e := newEnv(f, nil)
	for _, s := range sessions(f, e) {
		f.Add(s)
	}
	f.Add(append([]byte{50, 0, 0, 0}, wire.AppendSMB1Negotiate(nil, "SMB 2.???")...))
	e.settled()
	f.Fuzz(func(t *testing.T, in []byte) {
		e := *e
		e.t = t
		p := smbtest.NewPipe(t, e.pool, e.srv.Handler, len(in)%2 == 1)
		for n := 0; len(in) > 4 && n < 32; n++ {
			size := min(int(binary.LittleEndian.Uint32(in)), len(in)-4, 64<<10)
			if size < 0 || p.Send(in[4:4+size]) != nil {
				break
			}
			in = in[4+size:]
			if n < 3 {
				_, _ = p.Recv(5 * time.Millisecond) // the next may depend on it
			}
		}
		// Before authentication a message costs little: a response for each request that
		// is let in, of which there are as many as credits.
		if st := e.pool.Stats(); st.Buffers > 32*3 {
			t.Fatalf("%d buffers", st.Buffers)
		}
		p.Close()
		e.settled()
	})
}
