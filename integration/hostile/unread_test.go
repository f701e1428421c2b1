package hostile

import (
	"context"
	"encoding/binary"
	"time"

	"fileserver/internal/app/bench"
	"fileserver/nfs/client"
	"fileserver/nfs/rpc"
)

// unreadAttacks request much data and read no replies.
var unreadAttacks = []attack{{
	name: "S6: ten connections of NFS over TCP leave their replies unread", factor: 10, config: "limits: {memory: 64MiB}\n",
	run: func(r *rig) {
		const size = 1 << 20
		name := "large"
		s, err := bench.Dial(r.ctx, r.target("nfs tcp"))
		r.check(err)
		defer s.Close()
		f, err := s.Open(r.ctx, name)
		r.check(err)
		io, err := f.NewIO(r.ctx, workSize)
		r.check(err)
		for off := uint64(0); off < size; off += workSize {
			r.check(io.Write(r.ctx, off, workSize))
		}
		r.check(io.Release())
		r.check(f.Close(r.ctx))
		read := r.readCall(name, size)
		for range 10 {
			c, err := r.dial(greedyAddr, "nfs tcp")
			r.check(err)
			c.SetWriteDeadline(time.Now().Add(5 * time.Second))
			for range 100 {
				if _, err := c.Write(read); err != nil {
					break // the server has stopped reading
				}
			}
		}
		time.Sleep(200 * time.Millisecond)
	},
}}

// readCall returns an RPC record with an NFSv3 READ of the first n bytes of a file.
func (r *rig) readCall(name string, n int) []byte {
	r.Helper()
	cred := client.Cred{}
	caller, err := client.DialTCP(r.ctx, r.at["nfs tcp"].String(), cred)
	r.check(err)
	recorded := &recordingCaller{Caller: caller, cred: cred.Append(nil)}
	m, err := client.MountV3(r.ctx, recorded, client.Options{Host: victimAddr.String(), Path: "/data"})
	r.check(err)
	defer m.Close(r.ctx)
	f, err := m.Open(r.ctx, name, false)
	r.check(err)
	io, err := f.NewIO(r.ctx, n)
	r.check(err)
	_, err = io.Read(r.ctx, 0, n)
	r.check(err)
	r.check(io.Release())
	return append(binary.BigEndian.AppendUint32(nil, 1<<31|uint32(len(recorded.last))), recorded.last...)
}

// recordingCaller records the last call.
type recordingCaller struct {
	client.Caller
	cred, last []byte
}

func (c *recordingCaller) NewSlot(ctx context.Context, n int) (client.Slot, error) {
	s, err := c.Caller.NewSlot(ctx, n)
	return recordingSlot{s, c}, err
}

type recordingSlot struct {
	client.Slot
	c *recordingCaller
}

func (s recordingSlot) Do(ctx context.Context, call *client.Call) error {
	s.c.last = rpc.AppendCall(nil, 1, call.Prog, call.Vers, call.Proc, rpc.AuthSys, s.c.cred)
	s.c.last = append(s.c.last, call.Args...)
	return s.Slot.Do(ctx, call)
}
