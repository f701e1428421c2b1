package smb

import (
	"context"

	"fileserver/smb/wire"
)

// opOplockBreak handles OPLOCK_BREAK: a client's answer to a break (MS-SMB2 3.3.5.22.1).
func opOplockBreak(_ context.Context, r *request) wire.Status {
	if wire.IsLeaseBreak(r.msg) {
		if _, err := wire.ParseLeaseBreakAck(r.msg); err != nil {
			return wire.StatusInvalidParameter
		}
		return wire.StatusObjectNameNotFound // no leases are granted (MS-SMB2 3.3.5.22.2)
	}
	q, err := wire.ParseOplockBreak(r.msg)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	o, st := r.file(q.FileID)
	if st != wire.StatusSuccess {
		return st
	}
	level, st := o.acknowledge(q.Level)
	if st != wire.StatusSuccess {
		return st
	}
	return r.reply(&wire.OplockBreak{Level: level, FileID: o.id})
}

// acknowledge takes the client's answer. One that does not go with what it has costs it the oplock.
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
	if o.setLevel(level); bad {
		o.setLevel(wire.OplockLevelNone)
	}
	o.mu.Unlock()
	err := cache.Acknowledge(cachings[level])
	if err != nil { // more than it was told to keep
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
		o.setLevel(level)
		o.mu.Unlock()
	}
	return level, wire.StatusSuccess
}
