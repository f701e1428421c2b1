package main

import (
	"os"
	"runtime"
)

// spareProcessor lets the runtime have two processors of its own kind (P) where the machine has one and GOMAXPROCS does not say. The runtime's
// monitor takes a P from whoever is in a system call when it looks twice, unless another is idle: with one only, each system call
// that takes longer than 20 us costs two switches of threads, and the monitor never rests.
func spareProcessor() {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2)
	}
}
