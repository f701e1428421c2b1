package server

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/config"
	"fileserver/internal/logbuf"
)

// TestLogIsBounded: a repeated message is written a bounded number of times, and the log says how many lines were left out.
// Other messages are not affected.
func TestLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out logbuf.Buffer // the report comes on a goroutine of its own
		log := NewLog(&out, config.Log{Level: slog.LevelInfo})
		conn := log.With("protocol", "nfs")
		for range 2000 {
			conn.Warn("connection refused", "remote", "192.0.2.1")
			conn.Debug("not asked for")
		}
		log.Info("another")
		count := func(text string) int { return strings.Count(out.String(), text) }
		if n := count(`msg="connection refused"`); n != logBurst || count("another") != 1 || count("not asked for") != 0 {
			t.Errorf("%d lines\n%s", n, out.String())
		}
		time.Sleep(logReport + time.Second)
		synctest.Wait()
		if !strings.Contains(out.String(), `level=WARN msg="log lines were left out" lines=1900 message="connection refused"`) {
			t.Errorf("what was left out is not told:\n%s", out.String()[max(0, len(out.String())-300):])
		}
		conn.Warn("connection refused")
		if n := count(`msg="connection refused"`); n != logBurst+1 {
			t.Errorf("%d lines", n)
		}
	})
}
