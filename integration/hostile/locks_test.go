package hostile

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"fileserver/smb/client"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// Limits of S11, and where the byte ranges of the three are in the file that all of them lock.
const (
	locksPerOwner  = 1000
	locksPerClient = 2500
	nfsGreedyAt    = 0
	smbGreedyAt    = 1 << 20
	victimAt       = 1 << 24
	sharedFile     = "shared"
)

// lockAttacks take byte ranges.
var lockAttacks = []attack{{
	name: "S11: a greedy client locks as many byte ranges as it may", factor: 10, ways: []string{"nfs tcp", "smb tcp"},
	config: fmt.Sprintf("limits: {locks_per_owner: %d, locks_per_client: %d}\n", locksPerOwner, locksPerClient),
	also:   lockAndWrite,
	run: func(r *rig) {
		r.takeLocks("NFSv4", r.newNFSLocker(greedyAddr), nfsGreedyAt)
		r.takeLocks("SMB", r.newSMBLocker(greedyAddr), smbGreedyAt)
	},
}}

// locker is a client that locks bytes of files.
type locker interface {
	// open opens a file with a new lock-owner, which the calls after it use.
	open(ctx context.Context, name string) error
	// lock locks the byte at off. It reports whether the server has no room for the lock.
	lock(ctx context.Context, off uint64) (full bool, err error)
	unlock(ctx context.Context, off uint64) error
}

// takeLocks takes every other byte from off on, until owner after owner and then the client has as many locks as it may.
// Then it goes on asking.
func (r *rig) takeLocks(proto string, l locker, off uint64) {
	r.Helper()
	begun, had := time.Now(), 0
	for owner := 0; had < locksPerClient; owner++ {
		r.check(l.open(r.ctx, sharedFile))
		n := 0
		for ; ; n++ {
			full, err := l.lock(r.ctx, off)
			if err != nil {
				r.Fatalf("%s: lock %d of owner %d: %v", proto, n, owner, err)
			}
			if full {
				break
			}
			off += 2
		}
		if want := min(locksPerOwner, locksPerClient-had); n != want {
			r.Fatalf("%s: owner %d has %d locks, want %d", proto, owner, n, want)
		}
		had += n
	}
	r.Logf("%s: the greedy client has %d locks after %v", proto, had, time.Since(begun).Round(time.Millisecond))
	r.Go(func(ctx context.Context) {
		for ctx.Err() == nil {
			switch full, err := l.lock(ctx, off); {
			case ctx.Err() != nil:
			case err != nil || !full:
				r.Errorf("%s: one lock too many: full %v, %v", proto, full, err)
				return
			}
			time.Sleep(time.Millisecond) // without a pause the attacker would use up the processors of this machine
		}
	})
}

// lockAndWrite returns what the victim of S11 does in each round: it locks a byte of the attacked file and of another,
// writes and reads near it, and unlocks it. The bytes are not those that are locked, as its locker has a session of its own.
func lockAndWrite(v *victim) func(context.Context) error {
	var l locker
	if v.way == "nfs tcp" {
		l = v.r.newNFSLocker(victimAddr)
	} else {
		l = v.r.newSMBLocker(victimAddr)
	}
	return func(ctx context.Context) error {
		for _, name := range []string{sharedFile, "other"} {
			if err := l.open(ctx, name); err != nil {
				return err
			}
			if full, err := l.lock(ctx, victimAt); err != nil || full {
				return fmt.Errorf("%s: locking: full %v, %w", name, full, err)
			}
			if err := transfer(ctx, v.session, name, victimAt+workSize); err != nil {
				return err
			}
			if err := l.unlock(ctx, victimAt); err != nil {
				return fmt.Errorf("%s: unlocking: %w", name, err)
			}
		}
		return nil
	}
}

// smbLocker locks over SMB. A lock-owner is an open.
type smbLocker struct {
	m    client.Machine
	w    smbtest.Wire
	file wire.FileID
}

func (r *rig) newSMBLocker(from netip.Addr) *smbLocker {
	r.Helper()
	c, err := r.dial(from, "smb tcp")
	r.check(err)
	l := &smbLocker{m: client.NewMachine(), w: smbtest.Over(c)}
	r.check(l.m.Connect(l.exchange, wire.Dialect311))
	st, _, err := l.m.Login(l.exchange, client.Identity{User: "ann", Password: "secret"}, client.Setup{})
	r.check(err)
	if st != wire.StatusSuccess {
		r.Fatalf("SESSION_SETUP: %v", st)
	}
	l.m.Sign = true // 3.1.1 requires it of TREE_CONNECT
	q := wire.TreeConnectRequest{Path: wire.AppendUTF16(nil, `\\server\data`)}
	resp, err := l.do(wire.CmdTreeConnect, q.Append)
	r.check(err)
	if resp.Status != wire.StatusSuccess {
		r.Fatalf("TREE_CONNECT: %v", resp.Status)
	}
	l.m.TreeID, l.m.Sign = resp.TreeID, false
	return l
}

func (l *smbLocker) exchange(msg []byte) ([]byte, error) {
	if err := l.w.Send(msg); err != nil {
		return nil, err
	}
	return l.w.Recv(patience)
}

// do sends a request and returns the response.
func (l *smbLocker) do(cmd wire.Command, body func([]byte, int) []byte) (client.Response, error) {
	raw, err := l.exchange(l.m.Message(client.Request{Command: cmd, Body: body}))
	if err != nil {
		return client.Response{}, err
	}
	list, err := l.m.Take(raw)
	if err != nil {
		return client.Response{}, err
	}
	return list[0], nil
}

func (l *smbLocker) open(_ context.Context, name string) error {
	q := wire.CreateRequest{
		ImpersonationLevel: wire.ImpersonationImpersonation, DesiredAccess: wire.FileReadData | wire.FileWriteData,
		ShareAccess: wire.FileShareRead | wire.FileShareWrite | wire.FileShareDelete, Disposition: wire.FileOpenIf,
		Options: wire.FileNonDirectoryFile, Name: wire.AppendUTF16(nil, name),
	}
	r, err := l.do(wire.CmdCreate, q.Append)
	if err != nil {
		return err
	}
	if r.Status != wire.StatusSuccess {
		return &client.StatusError{Command: r.Command, Status: r.Status}
	}
	resp, err := wire.ParseCreateResponse(r.Msg)
	l.file = resp.FileID
	return err
}

func (l *smbLocker) lock(_ context.Context, off uint64) (full bool, err error) {
	st, err := l.change(off, wire.LockFlagExclusive|wire.LockFlagFailImmediately)
	if err != nil || st == wire.StatusSuccess || st == wire.StatusInsufficientResources {
		return st == wire.StatusInsufficientResources, err
	}
	return false, &client.StatusError{Command: wire.CmdLock, Status: st}
}

func (l *smbLocker) unlock(_ context.Context, off uint64) error {
	st, err := l.change(off, wire.LockFlagUnlock)
	if err == nil && st != wire.StatusSuccess {
		err = &client.StatusError{Command: wire.CmdLock, Status: st}
	}
	return err
}

func (l *smbLocker) change(off uint64, flags wire.LockFlags) (wire.Status, error) {
	q := wire.LockRequest{FileID: l.file}
	q.Locks.Add(wire.LockElement{Offset: off, Length: 1, Flags: flags})
	r, err := l.do(wire.CmdLock, q.Append)
	return r.Status, err
}
