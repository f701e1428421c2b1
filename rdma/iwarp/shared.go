package iwarp

import (
	"net"

	"golang.org/x/sys/unix"
)

// beginsLikeMPA looks at the first bytes of a connection without taking them,
// for as long as they could be those of a request. A connection that stays
// silent is the other protocol's to judge.
func beginsLikeMPA(conn *net.TCPConn) (bool, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false, err
	}
	var (
		buf  [mpaKeyLen]byte
		mpa  bool
		seen int
		fail error
	)
	err = raw.Read(func(fd uintptr) bool {
		n, err := peekFD(fd, buf[:])
		if err == unix.EAGAIN {
			return false
		}
		seen, fail = n, err
		mpa = string(buf[:n]) == mpaRequestKey[:n]
		// With some of the key there, false waits for more.
		return err != nil || n == 0 || !mpa || n == mpaKeyLen
	})
	switch {
	case fail != nil:
		return false, fail
	case err != nil && seen == 0 && isTimeout(err):
		return false, nil
	case err != nil:
		return false, err
	}
	return mpa && seen == mpaKeyLen, nil
}
