// Package guest boots a Linux guest, runs a bash script in it as root, and brings back what it printed, its exit status, its kernel's
// messages, and the files it left in /out. It is how the tests put a real, unmodified kernel client in front of the server, on a
// machine that has neither RDMA nor loadable modules nor KVM.
//
// # Two ways to boot
//
// As root a guest is a User Mode Linux kernel: a process, nearly as fast as the machine. Every [Host] then has a network namespace of
// its own, with a bridge that holds 198.18.1.1 (the outside: servers, captures) and one veth pair for each guest (198.18.1.2, .3, ...;
// vec0 inside). Without root a guest is QEMU with software emulation, ten to thirty times slower; user networking leads from
// 10.0.2.15 (eth0) to this machine's loopback, which the guest sees as 10.0.2.2.
//
// The guest's root is this machine's own root, read-only, below an overlay in the guest's RAM: a program that is installed or built
// outside is found inside under the same path, and nothing the guest does reaches the machine but what it writes to /out.
//
// # Talking with the script
//
// A script says `mark NAME [TEXT]`, which [Guest.Mark] waits for, and waits itself with `await NAME [SECONDS]` for [Guest.Signal]. Both
// are bash functions that every script finds defined. Extra files ([Config.Files]) are in the directory $GUEST.
//
// # Nothing stays behind
//
// Every process is in a group of its own and dies with the thread that started it (PR_SET_PDEATHSIG); the namespace has no name, so
// that it goes with its last process. A test binary that is killed leaves a temporary directory, nothing else.
//
// # Kernels
//
// [FindKernel] takes FILESERVER_GUEST_UML (User Mode Linux) or FILESERVER_GUEST_KERNEL (bzImage), both absolute paths, otherwise the
// newest of $XDG_CACHE_HOME/fileserver/guest/{linux-uml,bzImage}-*, where
//
//	go run ./integration/guest/cmd/guestkernel
//
// puts kernels that it builds from Debian's linux-source package with the fragments in integration/guest/kernel. packages.txt
// lists the Debian packages that guests and their tests need.
//
// # The rule for tests
//
// [ForTest] leaves a test out under `go test -short`, and only then. Otherwise a missing kernel or program is a failure that says
// what to type.
package guest
