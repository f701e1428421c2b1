package smb

import (
	"context"

	"fileserver/smb/wire"
)

// cancelRequest is a CANCEL, which has no response (MS-SMB2 3.3.5.16).
type cancelRequest struct{ needsNothing }

func parseCancel(*request) (operation, error) { return cancelRequest{}, nil }

func (cancelRequest) run(_ context.Context, r *request) wire.Status {
	c := r.conn
	c.mu.Lock()
	var w *wait
	for o := c.first; o != nil; o = o.next {
		found := o.hdr.MessageID == r.hdr.MessageID
		if r.hdr.Flags&wire.FlagAsyncCommand != 0 {
			found = o.asyncID != 0 && o.asyncID == r.hdr.AsyncID
		}
		if found && o.hdr.SessionID == r.hdr.SessionID {
			w = o.cancelLocked()
			break
		}
	}
	c.mu.Unlock()
	if w != nil {
		w.end(wire.StatusCancelled)
	}
	return statusSilent
}

// cancelLocked marks the request as cancelled, so that it begins no further wait. It returns the wait that the caller
// must end, or nil.
func (r *request) cancelLocked() *wait {
	w := r.cancellable
	r.cancelled, r.cancellable = true, nil
	return w
}

// cancelAll cancels all outstanding requests.
func (c *Conn) cancelAll() {
	var waits []*wait
	c.mu.Lock()
	for r := c.first; r != nil; r = r.next {
		if w := r.cancelLocked(); w != nil {
			waits = append(waits, w)
		}
	}
	c.mu.Unlock()
	for _, w := range waits {
		w.end(wire.StatusCancelled)
	}
}
