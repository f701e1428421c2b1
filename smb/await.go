package smb

import (
	"context"

	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

// await goes on with then when those who cache the file have answered. The request can be cancelled meanwhile.
func (r *request) await(rc *lock.Recall, then func(context.Context, *request) wire.Status) wire.Status {
	ctx, cancel := context.WithCancel(r.conn.ctx)
	if st := r.goAsync(func(wire.Status) { cancel() }); st != wire.StatusPending {
		cancel()
		return st
	}
	go func() {
		defer cancel()
		select {
		case <-rc.Done():
			r.resume(then)
		case <-ctx.Done():
			r.resume(cancelled)
		}
	}()
	return statusParked
}

// cancelled is how a request goes on that nobody waits for any more.
func cancelled(context.Context, *request) wire.Status { return wire.StatusCancelled }
