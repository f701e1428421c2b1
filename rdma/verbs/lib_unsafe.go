//go:build linux && cgo && rdmacore

package verbs

/*
#cgo CFLAGS: -Wall -Wextra -Wno-unused-parameter
#cgo LDFLAGS: -ldl
#cgo noescape vb_poll
#cgo nocallback vb_poll
#cgo noescape vb_arm_poll
#cgo nocallback vb_arm_poll
#cgo noescape vb_post_send
#cgo nocallback vb_post_send
#cgo noescape vb_post_recv
#cgo nocallback vb_post_recv
#cgo noescape vb_take_event
#cgo nocallback vb_take_event
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

// load opens the libraries, once.
var load = sync.OnceValue(func() error {
	missing := C.GoString(C.vb_load())
	switch {
	case missing == "":
		return nil
	case strings.HasPrefix(missing, "lib"):
		return fmt.Errorf("%w: %s is not on this machine: install libibverbs1, librdmacm1 and ibverbs-providers", rdma.ErrUnsupported, missing)
	}
	return fmt.Errorf("%w: this machine's rdma-core is too old, it has no %s: version 24 or later is needed", rdma.ErrUnsupported, missing)
})

// failure is the error of a call that returned an errno.
func failure(what string, errno C.int) error {
	if errno == 0 {
		return nil
	}
	return fmt.Errorf("rdma/verbs: %s: %w", what, syscall.Errno(errno))
}

// pollable makes a file of a duplicate of fd for the runtime's poller; whoever owns fd closes that.
func pollable(fd int, name string) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(dup), name), nil
}
