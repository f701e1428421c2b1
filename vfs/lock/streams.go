package lock

import "sync"

// streams holds the extended attributes that are open as streams of their own. mu is a leaf.
type streams struct {
	mu sync.Mutex
	of map[streamName]FileKey
}

type streamName struct {
	file FileKey
	attr string
}

// NameStream records that an extended attribute of a file is open as a stream, which has claims of its own under
// key.
func (m *Manager) NameStream(file FileKey, attr string, key FileKey) {
	m.streams.mu.Lock()
	defer m.streams.mu.Unlock()
	m.streams.of[streamName{file, attr}] = key
}

// ForgetStream removes the record if the attribute still belongs to the stream with this key.
func (m *Manager) ForgetStream(file FileKey, attr string, key FileKey) {
	m.streams.mu.Lock()
	defer m.streams.mu.Unlock()
	if n := (streamName{file, attr}); m.streams.of[n] == key {
		delete(m.streams.of, n)
	}
}

// Stream returns the key of an extended attribute that is open as a stream.
func (m *Manager) Stream(file FileKey, attr string) (key FileKey, open bool) {
	m.streams.mu.Lock()
	defer m.streams.mu.Unlock()
	key, open = m.streams.of[streamName{file, attr}]
	return key, open
}
