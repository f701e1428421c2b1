package main

import (
	"os"
	"runtime"
)

// spareProcessor gives the Go runtime two Ps if the machine has one processor and GOMAXPROCS is not set. The runtime's monitor takes
// the P from a goroutine that stays in a system call, unless another P is idle. With a single P, each system call of more than
// 20 us costs two thread switches, and the monitor never sleeps.
func spareProcessor() {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2)
	}
}
