package rpc_test

import (
	"bytes"
	"testing"

	"fileserver/nfs/rpc"
)

// TestReconnectWhileRunning: the client loses its connection while the call runs, and asks again on a new one.
func TestReconnectWhileRunning(t *testing.T) {
	s := newServer(t, nil).listen()
	first := s.dial()
	c := call(procCount, word(1))
	c.XID = 77
	go first.Do(must(t), c)
	<-s.entered
	first.Close()
	second := s.dial()
	got := make(chan []byte, 1)
	go func() {
		stat, b, err := second.Do(must(t), c)
		if err != nil || stat != rpc.Success {
			t.Error(stat, err)
		}
		got <- b
	}()
	s.release <- struct{}{}
	if b := <-got; !bytes.Equal(b, word(1)) {
		t.Fatalf("%x", b)
	}
	// And again, now from the cache.
	if _, b, err := s.dial().Do(must(t), c); err != nil || !bytes.Equal(b, word(1)) {
		t.Fatal(b, err)
	}
	if n := s.executed.Load(); n != 1 {
		t.Fatalf("executed %d times", n)
	}
}
