package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Peers can make the server log lines about connections, refusals and failed logins. Of lines with one message, logBurst are
// written at once, and then one every logEvery. logReport later, the log says how many were left out.
const (
	logBurst  = 100
	logEvery  = 200 * time.Millisecond
	logReport = 10 * time.Second
	// logMessages bounds the number of messages counted. The texts of messages are constants, so there are fewer.
	logMessages = 1000
)

// limitHandler passes on a bounded number of lines with the same message.
type limitHandler struct {
	slog.Handler
	limits *logLimits
}

// logLimits counts recent lines by message. No other lock is taken while mu is held.
type logLimits struct {
	report func(message string, level slog.Level, lines int) // logs how many lines were left out

	mu sync.Mutex
	by map[string]*logBucket
}

type logBucket struct {
	lines   int // lines that may be written now
	at      time.Time
	omitted int // lines left out since the last report
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
		time.AfterFunc(logReport, func() { l.reportOmitted(b, message, level) })
	}
	return false
}

func (l *logLimits) reportOmitted(b *logBucket, message string, level slog.Level) {
	l.mu.Lock()
	n := b.omitted
	b.omitted = 0
	l.mu.Unlock()
	l.report(message, level, n)
}
