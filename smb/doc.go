// Package smb is the server of SMB 2 and 3 (MS-SMB2): dialects 2.0.2 to 3.1.1 over
// any [transport.Conn]. It knows RDMA only as what a transport can do with a message's
// bulk data.
//
// # A message's way
//
// The transport hands a message to [Conn.Message], on its own goroutine. There the message is taken apart (decrypted first if
// it is small), its message IDs are checked against the credits given, and its requests are parsed, and noted so that CANCEL
// finds them. A [compound], which is one message's requests, then runs on a worker: one after the other is checked and run, by
// the table in dispatch.go, and the responses go out as one message. A request that has to wait parks its compound: the worker
// is free, and whoever ends the wait resumes it. docs/architecture.md draws this.
//
// # How to write a command
//
// One file op_NAME.go with the command's [operation]: a type with what package wire makes of its request, a function that
// parses it, needs and run; and a row in the table in dispatch.go. Before run is called session, tree, signature, encryption and
// the needs have been checked, and r.open is the open. run appends its response's body to r.out (see response.go). What it returns is
// the response's status; a failure needs no body. The request and all that refers to its message are gone
// after the response has been finished. How it waits is in wait.go: it runs again, from the beginning.
//
// # Opens
//
// A CREATE walks the share's tree (package smb/namespace), checks rights, claims the file with the arbiter (package
// vfs/lock: share modes and oplocks, for all protocols), opens it and publishes the [Open]. If an oplock has
// to be broken first it lets go of everything, parks, and begins anew: everything may have changed. The life of an open is at its
// type. What all opens of a name share is in its link (links.go). A named stream is a file of its own to the arbiter and to READ and
// WRITE; what its opens share is in streams.go, and its data in an extended attribute of the file (package smb/namespace). Whether
// a name or a stream is deleted with its last open is in its disposition (disposition.go). Whatever changes a file's data,
// size, locks or name calls Open.recall before, and waits for the answers (request.await).
//
// # Memory
//
// Before anybody is authenticated a message costs its own size, and a client holds few credits. After that the data that the
// requests of one connection hold is bounded (admission.go), from before they run until their responses have left; beyond that they wait, in
// their order. What a request may hold is what its CreditCharge pays for.
//
// # Locks
//
// Each owner has one mutex, taken in this order, and none is held while another package is called that may block:
//
//	Server.mu (sessions, shares) → Session.mu (channels, trees, opens) → Conn.mu (credits, outstanding requests, channels) → Open.mu (oplock) → links.mu (names that are open), or streams.mu (streams that are)
//
// A connection's budget has a lock that is a leaf, taken when buffers are given back, with whatever locks of transports.
//
// Four are different: the names of directories (lock.Names), an open directory's search.mu, Server.appends, and after these stream.io are held while the
// file system works, because their purpose is that nothing comes between two of its calls. They are taken with nothing else held, and what they
// protect may take the others. An open's ranges.mu (byte-range locks) is taken before the arbiter's.
//
// What a Tree and a [channel] hold does not change. Callbacks (Observer, the transport's Send) run without locks. A wait may be ended with any lock held.
package smb
