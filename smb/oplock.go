package smb

import (
	"time"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// lockProto distinguishes the clients of SMB from others in package lock.
const lockProto = 3

// breakTimeout is how long a client has to answer an oplock break (MS-SMB2 3.3.2.1).
const breakTimeout = 35 * time.Second

// oplock is an open's oplock (MS-SMB2 3.3.1.10). It is guarded by Open.mu.
type oplock struct {
	cache     *lock.Cache // nil: there is none
	level     uint8       // the client's level; before the client has answered a break, the old one. Open.setLevelLocked sets it
	breaking  bool
	to        uint8       // the level after the break, while the oplock is breaking
	via       *Conn       // the connection on which the break was sent
	timer     *time.Timer // of the break
	announced bool        // the client knows of the open: the response to its CREATE was sent
	due       func()      // a break that is sent once announced is set
}

// cachings are what a client with an oplock of each level may cache.
var cachings = map[uint8]lock.Caching{
	wire.OplockLevelII:        lock.CacheRead,
	wire.OplockLevelExclusive: lock.CacheRead | lock.CacheWrite,
	wire.OplockLevelBatch:     lock.CacheRead | lock.CacheWrite | lock.CacheHandle,
}

// levelOf returns the oplock level that allows caching c.
func levelOf(c lock.Caching) uint8 {
	if c&lock.CacheRead != 0 {
		return wire.OplockLevelII
	}
	return wire.OplockLevelNone
}

// cacheKey identifies the open as an owner of caches: every open is an owner of its own.
func (o *Open) cacheKey() lock.CacheKey {
	return lock.CacheKey{Proto: lockProto, Client: o.serial}
}

// grantOplock grants the level that was asked for, or what other opens leave of it, and returns the level granted
// (MS-FSA 2.1.5.17).
func (o *Open) grantOplock(want uint8) uint8 {
	c := cachings[want]
	if c == 0 || o.stream == nil && o.object().Kind() != vfs.KindRegular || o.share.NoOplocks || o.home.conn.neg.Load().leasesOnly {
		return wire.OplockLevelNone
	}
	locks := o.srv.cfg.Locks
	o.mu.Lock()
	defer o.mu.Unlock()
	cache := locks.Cache(o.key, o.cacheKey(), c, o.recalled)
	if cache == nil {
		return wire.OplockLevelNone
	}
	o.oplock = oplock{cache: cache}
	if got, _ := cache.State(); got != c {
		cache.Reduce(lock.CacheRead) // only leases can cache handles without writes
		want = wire.OplockLevelII
	}
	o.setLevelLocked(want)
	return o.oplock.level
}

// recalled breaks the oplock to what the arbiter still allows. The arbiter calls it.
func (o *Open) recalled(_, to lock.Caching, ack bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := &o.oplock
	if p.cache == nil {
		return // the oplock is being released
	}
	level, cache := levelOf(to), p.cache
	if ack && p.level == wire.OplockLevelII {
		// The client asked for more, and was not granted it yet: it need not answer.
		ack = false
		go func() { _ = cache.Acknowledge(to) }() // in a goroutine of its own, because it may call recalled again
		if level == wire.OplockLevelII {
			return
		}
	}
	if ack {
		p.breaking, p.to = true, level
	} else {
		o.setLevelLocked(level)
	}
	send := func() {
		if ack {
			p.timer = time.AfterFunc(breakTimeout, func() { o.breakTimedOut(cache) })
		}
		go o.sendBreak(level)
	}
	if p.announced {
		send()
	} else {
		p.due = send
	}
}

// announce notes that the client knows of the open, so that breaks can be sent.
func (o *Open) announce() {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := &o.oplock
	p.announced = true
	if due := p.due; due != nil && p.cache != nil {
		p.due = nil
		due()
	}
}

// breakTimedOut revokes the oplock of a client that has not answered its break.
func (o *Open) breakTimedOut(cache *lock.Cache) {
	o.mu.Lock()
	if o.oplock.cache != cache || !o.oplock.breaking {
		o.mu.Unlock()
		return
	}
	o.oplock.breaking = false
	o.setLevelLocked(wire.OplockLevelNone)
	o.mu.Unlock()
	o.srv.cfg.Logger.Warn("smb: oplock break unanswered", "share", o.share.Name, "user", o.home.session.who().Name)
	cache.Revoke()
	cache.Reduce(0)
}

// endOplock releases the oplock.
func (o *Open) endOplock() {
	o.mu.Lock()
	cache := o.oplock.cache
	if t := o.oplock.timer; t != nil {
		t.Stop()
	}
	o.oplock = oplock{}
	o.setLevelLocked(wire.OplockLevelNone)
	o.mu.Unlock()
	if cache != nil {
		cache.Release()
	}
}

// setLevelLocked records the client's level.
func (o *Open) setLevelLocked(level uint8) {
	o.oplock.level = level
	o.levelII.Store(level == wire.OplockLevelII)
}

// recall recalls the caches of all others down to keep. It returns nil if nobody has to answer. An oplock of level II
// does not survive a change of the file, not even one by its own open (MS-FSA 2.1.4.12).
func (o *Open) recall(keep lock.Caching) *lock.Recall {
	key := o.cacheKey()
	if keep&lock.CacheRead == 0 && o.levelII.Load() {
		key = lock.CacheKey{Proto: lockProto} // no open has this key: serials begin at 1
	}
	return o.srv.cfg.Locks.Recall(o.key, key, keep)
}

// breakUnheard reports whether a break that needs an answer was sent on c, which has ended, and returns the level of
// that break.
func (o *Open) breakUnheard(c *Conn) (level uint8, unheard bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.oplock.to, o.oplock.breaking && o.oplock.via == c
}

// sendBreak tells the client that its oplock is broken to the level (MS-SMB2 3.3.4.6). It uses the connection on
// which the open was created or, if that has ended, another connection of the session.
func (o *Open) sendBreak(level uint8) {
	s := o.home.session
	conn := o.home.conn
	s.mu.Lock()
	if s.channels[conn] == nil {
		conn = nil
		for c := range s.channels {
			conn = c
			break
		}
	}
	s.mu.Unlock()
	if conn == nil {
		return
	}
	o.mu.Lock()
	o.oplock.via = conn
	o.mu.Unlock()
	buf, err := conn.memory(headroom + wire.HeaderLen + smallRoom + tailroom)
	if err != nil {
		conn.drop(err)
		return
	}
	h := wire.Header{Command: wire.CmdOplockBreak, Flags: wire.FlagServerToRedir, MessageID: ^uint64(0)}
	b := h.Append(buf.Bytes()[headroom:headroom])
	b = (&wire.OplockBreak{Level: level, FileID: o.id}).Append(b, 0)
	var sealed *Session
	if s.encrypt || o.share.Encrypt {
		sealed = s
	}
	if err := conn.sendOne(buf, len(b), sealed); err != nil {
		conn.drop(err)
	}
}
