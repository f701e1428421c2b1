package iwarp

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// FuzzShared sends the beginning of a connection in two parts to a port that two protocols share. It is iWARP's
// exactly if it begins with the whole key of an MPA request (RFC 5044 7.1.1), and no byte of it is taken.
func FuzzShared(f *testing.F) {
	f.Add([]byte(mpaRequestKey+"\x40\x02\x00\x00"), uint8(0))
	f.Add([]byte(mpaRequestKey), uint8(7))
	f.Add([]byte(mpaRequestKey[:15]+"x"), uint8(15))
	f.Add([]byte(mpaRequestKey[:9]), uint8(3))
	f.Add([]byte(mpaReplyKey), uint8(1))
	f.Add([]byte("M"), uint8(0))
	f.Add([]byte("\x80\x00\x00\x28"), uint8(2))        // a call of NFS
	f.Add([]byte("\x00\x00\x00\x44\xfeSMB"), uint8(5)) // a message of SMB
	f.Add([]byte(nil), uint8(0))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { l.Close() })
	f.Fuzz(func(t *testing.T, begin []byte, cut uint8) {
		if len(begin) > 4<<10 {
			return
		}
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		k := min(int(cut), len(begin))
		wrote := make(chan struct{})
		go func() {
			defer close(wrote)
			client.Write(begin[:k])
			client.Write(begin[k:])
			client.(*net.TCPConn).CloseWrite()
		}()
		// What ends inside the key is waited for until the deadline; all else is decided without it.
		inside := len(begin) > 0 && len(begin) < mpaKeyLen && strings.HasPrefix(mpaRequestKey, string(begin))
		patience := 20 * time.Second
		if inside {
			<-wrote
			patience = 20 * time.Millisecond
		}
		conn.SetReadDeadline(time.Now().Add(patience))
		mpa, err := beginsLikeMPA(conn.(*net.TCPConn))
		if want := strings.HasPrefix(string(begin), mpaRequestKey); mpa != want {
			t.Fatalf("%q: %v, want %v (%v)", begin, mpa, want, err)
		}
		if (err != nil) != inside {
			t.Fatalf("%q: %v", begin, err)
		}
		<-wrote
		conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if got, err := io.ReadAll(conn); err != nil || string(got) != string(begin) {
			t.Fatalf("%q is left of %q: %v", got, begin, err)
		}
	})
}
