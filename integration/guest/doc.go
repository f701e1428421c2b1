// Package guest boots a Linux guest and runs a bash script in it as root. It returns the script's output and exit status, the kernel's
// messages, and the files in /out. With it the tests run real, unmodified kernel clients against the server, on a machine that has
// neither RDMA nor loadable modules nor KVM.
//
// # Two ways to boot
//
// For root a guest is a User Mode Linux kernel: a process, nearly as fast as the machine. Every [Host] then has its own network
// namespace. A bridge in it has the address 198.18.1.1, where servers and captures run, and one veth pair for each guest (vec0 in the
// guest; 198.18.1.2, .3, ...). For other users a guest is QEMU with software emulation, ten to thirty times slower. QEMU's user
// networking connects 10.0.2.15 (eth0) with this machine's loopback, which the guest sees as 10.0.2.2.
//
// The guest's root is this machine's own root, read-only, below an overlay in the guest's RAM. A program that is installed or built
// outside has the same path inside. The guest changes nothing on the machine except the files in /out.
//
// # Talking with the script
//
// [Guest.Mark] waits until the script calls `mark NAME [TEXT]`. The script waits for [Guest.Signal] with `await NAME [SECONDS]`. Both
// are bash functions that are defined for every script. Extra files ([Config.Files]) are in the directory $GUEST.
//
// # Cleaning up
//
// Every process is in its own process group and dies with the thread that started it (PR_SET_PDEATHSIG). The namespace has no name, so
// it ends with its last process. A test binary that is killed leaves only a temporary directory.
//
// # Kernels
//
// [FindKernel] uses FILESERVER_GUEST_UML (User Mode Linux) or FILESERVER_GUEST_KERNEL (bzImage), which are absolute paths. Without them
// it uses the newest of $XDG_CACHE_HOME/fileserver/guest/{linux-uml,bzImage}-*. The command
//
//	go run ./integration/guest/cmd/guestkernel
//
// builds these kernels from Debian's linux-source package with the fragments in integration/guest/kernel. packages.txt
// lists the Debian packages that guests and their tests need.
//
// # The rule for tests
//
// [ForTest] skips a test under `go test -short`, and only then. Otherwise a missing kernel or program fails the test, and the message
// says what to type.
package guest
