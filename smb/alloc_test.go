package smb

import (
	"fmt"
	"net/netip"
	"testing"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// bare is a transport that takes responses and forgets them. It has the peer's memory, if told to.
type bare struct {
	info transport.Info
	rdma bool
	sent chan int
}

func (b *bare) Info() *transport.Info { return &b.info }

func (b *bare) Send(o *transport.Outgoing) error {
	n := o.Len()
	o.Release()
	b.sent <- n
	return nil
}

func (b *bare) Disconnect(err error, _ bool) {
	if err != nil {
		b.sent <- -1
	}
}

func (b *bare) Placer() transport.Placer {
	if b.rdma {
		return b
	}
	return nil
}

func (b *bare) Read(_ *slab.Buf, _, _ int, _ []transport.Descriptor, done transport.Completion) error {
	done.Completed(nil)
	return nil
}

// TestAllocations: a READ or WRITE takes nothing but buffers of the pool, whatever protects it.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const size = 64 << 10
	type way struct {
		mode   string
		sign   crypt.Algorithm
		cipher crypt.Cipher
	}
	ways := []way{{"plain", crypt.AESCMAC, crypt.GCM128}, {"rdma", crypt.AESCMAC, crypt.GCM128}}
	for _, a := range []crypt.Algorithm{crypt.HMACSHA256, crypt.AESCMAC, crypt.AESGMAC} {
		ways = append(ways, way{"signed", a, crypt.GCM128})
	}
	for _, c := range []crypt.Cipher{crypt.CCM128, crypt.GCM128, crypt.CCM256, crypt.GCM256} {
		ways = append(ways, way{"encrypted", crypt.AESGMAC, c})
	}
	for _, x := range ways {
		mode := x.mode
		for _, cmd := range []wire.Command{wire.CmdRead, wire.CmdWrite} {
			t.Run(fmt.Sprintf("%s %v %v %v", mode, x.sign, x.cipher, cmd), func(t *testing.T) {
				e := newEnv(t, nil)
				// A client of smbtest makes session, tree and file; the bare connection takes its session over.
				c := e.client()
				c.Ciphers, c.SignAlgs = []crypt.Cipher{x.cipher}, []crypt.Algorithm{x.sign}
				c.Connect(wire.Dialect311)
				c.MustLogin("ann", "secret")
				c.Tree(`\\s\data`, wire.StatusSuccess)
				q := wire.CreateRequest{
					DesiredAccess: wire.FileReadData | wire.FileWriteData, ImpersonationLevel: 2, Disposition: wire.FileOpenIf,
					ShareAccess: wire.FileShareRead, Name: wire.AppendUTF16(nil, "f"),
				}
				r := c.Call(wire.CmdCreate, q.Append, wire.StatusSuccess)
				resp, err := wire.ParseCreateResponse(r.Msg)
				if err != nil {
					t.Fatal(err)
				}
				e.srv.mu.Lock()
				s := e.srv.sessions[c.SessionID]
				e.srv.mu.Unlock()
				b := &bare{rdma: mode == "rdma", sent: make(chan int, 1), info: transport.Info{RemoteAddr: netip.MustParseAddrPort("127.0.0.1:1")}}
				conn := e.srv.Handler(b).(*Conn)
				defer conn.Closed(nil)
				n := &negotiated{dialect: wire.Dialect311, serverCaps: wire.CapLargeMTU, maxRead: 8 << 20, maxWrite: 8 << 20, maxTransact: 1 << 20}
				conn.neg.Store(n)
				if st := conn.attach(&channel{session: s, conn: conn, signer: s.signer}); st != 0 {
					t.Fatal(st)
				}
				var body func([]byte, int) []byte
				var into wire.Descriptors
				into.Add(0, 7, size)
				channel := wire.ChannelNone
				if mode == "rdma" {
					channel = wire.ChannelRDMAV1Invalidate
				} else {
					into = nil
				}
				rd := wire.ReadRequest{FileID: resp.FileID, Length: size, Channel: channel, ChannelInfo: into}
				wr := wire.WriteRequest{FileID: resp.FileID, Channel: channel, ChannelInfo: into}
				if mode == "rdma" {
					wr.RemainingBytes = size
				} else {
					wr.Data = make([]byte, size)
				}
				body = rd.Append
				if cmd == wire.CmdWrite {
					body = wr.Append
				}
				msg := make([]byte, 0, size+1024)
				id := uint64(0)
				turn := func() {
					h := wire.Header{CreditCharge: 1, Credits: 1, Command: cmd, MessageID: id, SessionID: s.id, TreeID: c.TreeID}
					if mode == "signed" {
						h.Flags |= wire.FlagSigned
					}
					id++
					m := body(h.Append(msg[:crypt.TransformLen]), crypt.TransformLen)
					switch mode {
					case "signed":
						c.Signer.Sign(m[crypt.TransformLen:])
						m = m[crypt.TransformLen:]
					case "encrypted":
						if err := c.Out.Seal(m, s.id); err != nil {
							t.Fatal(err)
						}
					default:
						m = m[crypt.TransformLen:]
					}
					buf, ok := e.pool.TryGet(len(m) + 16)
					if !ok {
						t.Fatal("no memory")
					}
					buf.SetLen(len(m))
					copy(buf.Bytes(), m)
					conn.Message(buf)
					if n := <-b.sent; n < 0 || cmd == wire.CmdRead && mode != "rdma" && n < size && id > 2 {
						t.Fatalf("%d bytes sent", n)
					}
				}
				if cmd == wire.CmdRead {
					body = wr.Append
					wr.Channel, wr.ChannelInfo, wr.Data = 0, nil, make([]byte, size)
					cmd = wire.CmdWrite
					turn()
					cmd, body = wire.CmdRead, rd.Append
				}
				for range 10 {
					turn()
				}
				if n := testing.AllocsPerRun(200, turn); n >= 1 {
					t.Errorf("%v allocations", n)
				}
			})
		}
	}
}
