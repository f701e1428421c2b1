//go:build !race

package rpc_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"

	"fileserver/internal/slab"
	"fileserver/nfs/rpc"
)

// exchange returns a function that sends stream and reads one reply, without allocating.
func exchange(t testing.TB, addr string, stream []byte) func() {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	buf := make([]byte, 2<<20)
	return func() {
		if _, err := nc.Write(stream); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(nc, buf[:4]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(nc, buf[:binary.BigEndian.Uint32(buf)&^(1<<31)]); err != nil {
			t.Fatal(err)
		}
	}
}

func readStream(n int) []byte {
	cred := rpc.AppendAuthSys(nil, 1, "client.example", 1000, 1000, []uint32{4, 24, 27})
	return fragmented(append(rpc.AppendCall(nil, 1, prog, vers, procRead, rpc.AuthSys, cred), word(uint32(n))...))
}

func TestAllocations(t *testing.T) {
	s := newServer(t, func(c *rpc.TCPConfig) { c.Buffers = slab.New(slab.Config{Limit: 64 << 20}) }).listen()
	for name, stream := range map[string][]byte{
		"READ 4 KiB": readStream(4096), "READ 1 MiB": readStream(1 << 20),
		"WRITE 100 B": fragmented(echoMessage(1, 100)), "WRITE 1 MiB": fragmented(echoMessage(1, 1<<20)),
	} {
		do := exchange(t, s.addr, stream)
		do()
		if n := testing.AllocsPerRun(200, do); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkTCP(b *testing.B) {
	s := newServer(b, func(c *rpc.TCPConfig) { c.Buffers = slab.New(slab.Config{Limit: 64 << 20}) }).listen()
	for name, stream := range map[string][]byte{"READ-4K": readStream(4096), "READ-1M": readStream(1 << 20), "ECHO-100": fragmented(echoMessage(1, 100))} {
		b.Run(name, func(b *testing.B) {
			do := exchange(b, s.addr, stream)
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}
