package smb

import (
	"context"

	"fileserver/smb/wire"
)

// oplockBreakAck is a client's answer to the break of an oplock (MS-SMB2 3.3.5.22.1).
type oplockBreakAck struct{ wire.OplockBreak }

// leaseBreakAck is a client's answer to the break of a lease (MS-SMB2 3.3.5.22.2).
type leaseBreakAck struct{ needsNothing }

func parseOplockBreak(r *request) (operation, error) {
	if wire.IsLeaseBreak(r.msg) {
		_, err := wire.ParseLeaseBreakAck(r.msg)
		return leaseBreakAck{}, err
	}
	q, err := wire.ParseOplockBreak(r.msg)
	return &oplockBreakAck{q}, err
}

// run always fails, because the server grants no leases.
func (leaseBreakAck) run(context.Context, *request) wire.Status {
	return wire.StatusObjectNameNotFound
}

func (q *oplockBreakAck) needs() needs { return needs{onOpen: true, file: q.FileID} }

func (q *oplockBreakAck) run(_ context.Context, r *request) wire.Status {
	o := r.open
	level, st := o.acknowledge(q.Level)
	if st != wire.StatusSuccess {
		return st
	}
	return r.reply(&wire.OplockBreak{Level: level, FileID: o.id})
}

// acknowledge handles the client's answer. A client whose answer does not match the break loses the oplock.
func (o *Open) acknowledge(level uint8) (uint8, wire.Status) {
	o.mu.Lock()
	p := &o.oplock
	cache, breaking := p.cache, p.breaking
	bad := level != wire.OplockLevelNone && level != wire.OplockLevelII
	switch {
	case cache == nil || !breaking:
		had := p.level
		o.mu.Unlock()
		switch {
		case level == wire.OplockLevelLease:
			return 0, wire.StatusInvalidParameter
		case bad, had == wire.OplockLevelNone, had == wire.OplockLevelII && level != wire.OplockLevelNone:
			return 0, wire.StatusInvalidOplockProtocol
		}
		return 0, wire.StatusInvalidDeviceState
	}
	p.timer.Stop()
	p.breaking, p.timer = false, nil
	if o.setLevelLocked(level); bad {
		o.setLevelLocked(wire.OplockLevelNone)
	}
	o.mu.Unlock()
	err := cache.Acknowledge(cachings[level])
	if err != nil { // the client asks for more than the break leaves it
		cache.Revoke()
	}
	switch {
	case bad:
		cache.Reduce(0)
		if level == wire.OplockLevelLease {
			return 0, wire.StatusInvalidParameter
		}
		return 0, wire.StatusInvalidOplockProtocol
	case err != nil:
		state, _ := cache.State()
		level = levelOf(state)
		o.mu.Lock()
		o.setLevelLocked(level)
		o.mu.Unlock()
	}
	return level, wire.StatusSuccess
}
