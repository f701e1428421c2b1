package rdma

import "golang.org/x/sys/unix"

// switches is how often the thread has slept in the kernel.
func switches() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return u.Nvcsw
}
