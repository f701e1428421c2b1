package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"fileserver/config"
)

func TestLogChangesUnderItsLoggers(t *testing.T) {
	var out bytes.Buffer
	l := NewLog(&out, config.Log{Level: slog.LevelInfo, Format: config.FormatText})
	conn := l.With("conn", 7).WithGroup("rdma")
	conn.Debug("hidden")
	conn.Info("first", "credits", 128)
	l.Set(config.Log{Level: slog.LevelDebug, Format: config.FormatJSON})
	conn.Debug("second", "credits", 64)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], "level=INFO msg=first conn=7 rdma.credits=128") ||
		!strings.HasSuffix(lines[1], `"level":"DEBUG","msg":"second","conn":7,"rdma":{"credits":64}}`) {
		t.Errorf("%q", lines)
	}
}
