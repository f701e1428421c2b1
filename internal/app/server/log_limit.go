package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Peers can make the server write lines: of connections, refusals and failed logins. Of one message logBurst lines are
// written at once, and then one for each logEvery; how many were left out is told when logTell has passed.
const (
	logBurst = 100
	logEvery = 200 * time.Millisecond
	logTell  = 10 * time.Second
	// logMessages bounds the messages that are told apart. The texts of messages are constants, so that there are fewer.
	logMessages = 1000
)

// limitHandler passes on a bounded number of lines with the same message.
type limitHandler struct {
	slog.Handler
	limits *logLimits
}

// logLimits are the messages written of late. The lock is a leaf.
type logLimits struct {
	told func(message string, level slog.Level, lines int) // that so many lines were left out

	mu sync.Mutex
	by map[string]*logBucket
}

type logBucket struct {
	lines   int // that may be written now
	at      time.Time
	omitted int // since it was told last
}

// Handle implements [slog.Handler].
func (h *limitHandler) Handle(ctx context.Context, r slog.Record) error {
	if !h.limits.take(r.Message, r.Level, r.Time) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h *limitHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return &limitHandler{h.Handler.WithAttrs(a), h.limits}
}

// WithGroup implements [slog.Handler].
func (h *limitHandler) WithGroup(name string) slog.Handler {
	return &limitHandler{h.Handler.WithGroup(name), h.limits}
}

// take reports whether a line may be written.
func (l *logLimits) take(message string, level slog.Level, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.by[message]
	if b == nil {
		if len(l.by) >= logMessages {
			clear(l.by)
		}
		b = &logBucket{lines: logBurst, at: now}
		l.by[message] = b
	}
	if earned := int(now.Sub(b.at) / logEvery); earned > 0 {
		b.lines = min(logBurst, b.lines+earned)
		b.at = now
	}
	if b.lines > 0 {
		b.lines--
		return true
	}
	if b.omitted++; b.omitted == 1 {
		time.AfterFunc(logTell, func() { l.tell(b, message, level) })
	}
	return false
}

func (l *logLimits) tell(b *logBucket, message string, level slog.Level) {
	l.mu.Lock()
	n := b.omitted
	b.omitted = 0
	l.mu.Unlock()
	l.told(message, level, n)
}
