package smb

import (
	"time"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// lockProto tells the clients of SMB apart from others in package lock.
const lockProto = 3

// breakTimeout is how long a client has to answer an oplock break (MS-SMB2 3.3.2.1).
const breakTimeout = 35 * time.Second

// oplock is an open's oplock (MS-SMB2 3.3.1.10). It is guarded by Open.mu.
type oplock struct {
	cache     *lock.Cache // nil: there is none
	level     uint8       // that the client has, or had before a break it has not answered; Open.setLevelLocked sets it
	breaking  bool
	to        uint8       // the level that it has to come down to, while it is breaking
	via       *Conn       // on which the client has been told
	timer     *time.Timer // of the break
	announced bool        // the client has been told of the open
	due       func()      // a break that waits for that
}

// cachings are what the levels allow to cache.
var cachings = map[uint8]lock.Caching{
	wire.OplockLevelII:        lock.CacheRead,
	wire.OplockLevelExclusive: lock.CacheRead | lock.CacheWrite,
	wire.OplockLevelBatch:     lock.CacheRead | lock.CacheWrite | lock.CacheHandle,
}

// levelOf is the level of an oplock that has been broken to what is left.
func levelOf(c lock.Caching) uint8 {
	if c&lock.CacheRead != 0 {
		return wire.OplockLevelII
	}
	return wire.OplockLevelNone
}

// cacheKey is who caches: every open is somebody of its own.
func (o *Open) cacheKey() lock.CacheKey {
	return lock.CacheKey{Proto: lockProto, Client: o.serial}
}

// grantOplock grants the level that was asked for, or what others leave of it, and returns it (MS-FSA 2.1.5.17).
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
		cache.Reduce(lock.CacheRead) // to cache handles but not writes is for leases
		want = wire.OplockLevelII
	}
	o.setLevelLocked(want)
	return o.oplock.level
}

// recalled is told that the oplock has to come down.
func (o *Open) recalled(_, to lock.Caching, ack bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := &o.oplock
	if p.cache == nil {
		return // it is being given up
	}
	level, cache := levelOf(to), p.cache
	if ack && p.level == wire.OplockLevelII {
		// It was to be more, and has not been granted: the client need not answer.
		ack = false
		go func() { _ = cache.Acknowledge(to) }() // not from here: that may recall again
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

// announce notes that the client knows of the open: breaks can be sent.
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

// breakTimedOut takes the oplock away from a client that has not answered.
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

// endOplock gives the oplock up.
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

// setLevelLocked notes the level that the client has.
func (o *Open) setLevelLocked(level uint8) {
	o.oplock.level = level
	o.levelII.Store(level == wire.OplockLevelII)
}

// recall makes all others come down to keep; nil: nobody has to answer. An oplock of level II does not
// outlast a change, not even one by its own open (MS-FSA 2.1.4.12).
func (o *Open) recall(keep lock.Caching) *lock.Recall {
	key := o.cacheKey()
	if keep&lock.CacheRead == 0 && o.levelII.Load() {
		key = lock.CacheKey{Proto: lockProto} // nobody's: opens count from 1
	}
	return o.srv.cfg.Locks.Recall(o.key, key, keep)
}

// breakUnheard reports whether a break that has to be answered went out on c, which has ended, and what it said.
func (o *Open) breakUnheard(c *Conn) (level uint8, unheard bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.oplock.to, o.oplock.breaking && o.oplock.via == c
}

// sendBreak tells the client that the oplock has to come down to the level (MS-SMB2 3.3.4.6), on the connection that the
// open was made on or, if that has ended, another one of the session.
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
