package notify

import (
	"context"
	"sync"
	"time"

	"fileserver/vfs"
)

const (
	// settle is how long local events are held back: the report of a change by the server itself follows its event
	// soon.
	settle = 200 * time.Millisecond
	// echo is how long a report is kept to wait for its event. nameEcho is the same for names that are added or
	// removed, which have one event for each report.
	echo     = 250 * time.Millisecond
	nameEcho = 2 * time.Second
	// maxEchoes bounds the reports kept for a directory.
	maxEchoes = 4096
	// maxPending bounds the events of a directory that are held back.
	maxPending = 8192
)

// source gets the local events of a watched directory. mu is taken after Hub.mu.
type source struct {
	hub   *Hub
	dir   vfs.Identity
	local vfs.Watcher

	mu      sync.Mutex
	started bool
	closed  bool
	end     func()
	echoes  map[string][]report // by name
	count   int
	pending []pending
	timer   *time.Timer
}

// report is a report of the server about a name.
type report struct {
	action Action
	at     time.Time
}

// pending is an event that is held back.
type pending struct {
	vfs.DirEvent
	at time.Time
}

func newSource(h *Hub, k vfs.Identity, local vfs.Watcher) *source {
	return &source{hub: h, dir: k, local: local, echoes: make(map[string][]report)}
}

// start begins to listen. If the backend has reached its limits, there are no local events.
func (s *source) start(ctx context.Context) {
	s.mu.Lock()
	if s.started || s.closed {
		s.mu.Unlock()
		return
	}
	s.started = true
	local := s.local
	s.mu.Unlock()
	end, err := local.Watch(ctx, s.event)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.end = end
	closed := s.closed
	s.mu.Unlock()
	if closed {
		end()
	}
}

// stop stops listening. One more event may follow.
func (s *source) stop() {
	s.mu.Lock()
	end := s.end
	s.closed, s.pending = true, nil
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	if end != nil {
		end()
	}
}

// reported records a change that the server has reported.
func (s *source) reported(c *Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	list := s.echoes[c.Name]
	for len(list) > 0 && now.Sub(list[0].at) > nameEcho {
		list = list[1:]
		s.count--
	}
	if c.Action == Modified { // only the last one counts
		for i := range list {
			if list[i].action == Modified {
				list[i].at = now
				s.echoes[c.Name] = list
				return
			}
		}
	}
	s.echoes[c.Name] = append(list, report{c.Action, now})
	if s.count++; s.count > maxEchoes {
		s.forget(now)
	}
}

// forget drops reports that are too old, or all if there are too many. The caller holds s.mu.
func (s *source) forget(now time.Time) {
	for name, list := range s.echoes {
		if now.Sub(list[len(list)-1].at) > nameEcho {
			s.count -= len(list)
			delete(s.echoes, name)
		}
	}
	if s.count > maxEchoes {
		clear(s.echoes)
		s.count = 0
	}
}

// event takes an event from the backend.
func (s *source) event(e vfs.DirEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	n := len(s.pending)
	switch {
	case n > 0 && s.pending[n-1].DirEvent == e: // the kernel reports every write
		return
	case n == maxPending:
		e = vfs.DirEvent{Op: vfs.EventsLost}
	case n > maxPending:
		return
	}
	s.pending = append(s.pending, pending{e, time.Now()})
	if n == 0 {
		s.timer = time.AfterFunc(settle, s.settled)
	}
}

// settled delivers the events that have been held back long enough.
func (s *source) settled() {
	s.mu.Lock()
	now := time.Now()
	n := 0
	var changes [][]Change
	gone := false
	for n < len(s.pending) && now.Sub(s.pending[n].at) >= settle {
		p := &s.pending[n]
		n++
		if p.Op == vfs.DirGone {
			gone = true
		} else if !s.isEcho(p, now) {
			changes = append(changes, s.changes(&p.DirEvent))
		}
	}
	s.pending = s.pending[n:]
	if len(s.pending) > 0 && !s.closed {
		s.timer = time.AfterFunc(settle-now.Sub(s.pending[0].at), s.settled)
	}
	s.mu.Unlock()
	for _, c := range changes {
		s.hub.local(s.dir, c)
	}
	if gone {
		s.hub.gone(s.dir)
	}
}

// isEcho reports whether an event is about a change that the server has reported. The caller holds s.mu.
func (s *source) isEcho(p *pending, now time.Time) bool {
	switch p.Op {
	case vfs.EntryAdded:
		return s.consume(p.Name, Added, RenamedNew, now)
	case vfs.EntryRemoved:
		return s.consume(p.Name, Removed, RenamedOld, now)
	case vfs.EntryRenamed:
		from := s.consume(p.Name, RenamedOld, Removed, now)
		return s.consume(p.To, RenamedNew, Added, now) && from
	case vfs.EntryWritten, vfs.EntryAttr:
		for _, r := range s.echoes[p.Name] {
			if d := p.at.Sub(r.at); d < echo && d > -echo {
				return true
			}
		}
	}
	return false
}

// consume uses up the oldest report with one of two actions, and reports whether there was one.
func (s *source) consume(name string, a, b Action, now time.Time) bool {
	list := s.echoes[name]
	for i, r := range list {
		if r.action != a && r.action != b || now.Sub(r.at) > nameEcho {
			continue
		}
		// Later modifications of the name are still echoes.
		list[i].action = Modified
		return true
	}
	return false
}

// changes returns the changes that an event stands for.
func (s *source) changes(e *vfs.DirEvent) []Change {
	name := NameOf(e.Kind)
	switch e.Op {
	case vfs.EntryAdded:
		return []Change{{Name: e.Name, Action: Added, What: name}}
	case vfs.EntryRemoved:
		return []Change{{Name: e.Name, Action: Removed, What: name}}
	case vfs.EntryRenamed:
		return []Change{{Name: e.Name, Action: RenamedOld, What: name}, {Name: e.To, Action: RenamedNew, What: name, Else: Attributes | Creation}}
	case vfs.EntryWritten:
		return []Change{{Name: e.Name, Action: Modified, What: Size | LastWrite}}
	case vfs.EntryAttr:
		return []Change{{Name: e.Name, Action: Modified, What: Attributes | LastWrite | Creation | Xattrs | Security}}
	}
	return []Change{{Action: Lost}}
}

// local delivers changes by local programs to the watches of a directory.
func (h *Hub) local(k vfs.Identity, changes []Change) {
	h.mu.RLock()
	list := h.watches[k]
	h.mu.RUnlock()
	var told []*delivery
	for i := range changes {
		for _, w := range list {
			told = w.add(told, &changes[i], changes[i].Name)
		}
	}
	for _, d := range told {
		d.w.tell(d.events)
	}
}
