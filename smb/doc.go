// Package smb is the server of SMB 2 and 3 (MS-SMB2): dialects 2.0.2 to 3.1.1 over
// any [transport.Conn]. It knows RDMA only as what a transport can do with a message's
// bulk data.
//
// # A message's way
//
// The transport calls [Conn.Message] on its own goroutine. Message parses the message (a small encrypted one is decrypted
// first), checks its message IDs against the credits granted, parses its requests, and registers them so that CANCEL finds
// them. A [compound], which is the requests of one message, then runs on a worker: it checks and runs one request after
// the other, by the table in dispatch.go, and sends the responses as one message. A request that has to wait parks its
// compound. The worker is then free, and whoever ends the wait resumes the compound. docs/architecture.md draws this.
//
// # How to write a command
//
// A command has one file op_NAME.go with its [operation]: a type that holds the request as package wire parses it, a parse
// function, and the methods needs and run. It also has a row in the table in dispatch.go. Before run is called, the server
// has checked session, tree, signature, encryption and the needs, and r.open is the open. run appends its response's body
// to r.out (see response.go) and returns the response's status; a failure needs no body. Nothing may keep the request, or
// anything that refers to its message, after the response has been finished. An operation that has waited runs again from
// the beginning (see wait.go).
//
// # Opens
//
// A CREATE walks the share's tree (package smb/namespace), checks rights, claims the file with the arbiter (package
// vfs/lock: share modes and oplocks, for all protocols), opens it and publishes the [Open]. If an oplock has to be broken
// first, the CREATE releases everything, parks, and begins anew, because everything may have changed. The type Open
// describes the life of an open. All opens of a name share its link (links.go). A named stream is a file of its own to the
// arbiter and to READ and WRITE. Its opens share what is in streams.go, and its data is in an extended attribute of the
// file (package smb/namespace). The disposition of a name or a stream says whether it is deleted with its last open
// (disposition.go). An operation that changes a file's data, size, locks or name first calls Open.recall, and waits for
// the answers (request.await).
//
// # Memory
//
// Before a client has authenticated, a message costs its own size, and the client holds few credits. After that, the data
// that the requests of one connection hold is bounded (admission.go), from before they run until their responses have been
// sent. Requests beyond the bound wait in their order. A request may hold what its CreditCharge pays for.
//
// # Locks
//
// Each owner has one mutex. The mutexes are taken in this order, and none is held during a call of another package that
// may block:
//
//	Server.mu (sessions, shares) → Session.mu (channels, trees, opens) → Conn.mu (credits, outstanding requests, channels) → Open.mu (oplock) → links.mu (names that are open), or streams.mu (streams that are)
//
// The lock of a connection's budget is a leaf. It is taken when buffers are released, which may happen under a lock of a
// transport.
//
// Four locks are different: the names of directories (lock.Names), an open directory's search.mu, Server.appends, and,
// after these, stream.io. They are held during calls of the file system, because they keep others from coming between two
// such calls. They are taken with nothing else held, and the code that they protect may take the other locks. An open's
// ranges.mu (byte-range locks) is taken before the arbiter's locks.
//
// The contents of a Tree and a [channel] do not change. Callbacks (Observer, the transport's Send) run without locks. A
// wait may be ended with any lock held.
package smb
