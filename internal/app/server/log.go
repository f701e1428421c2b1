package server

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"

	"fileserver/config"
)

// Log is the server's log. Its level and format can change while loggers derived from it are in use.
type Log struct {
	*slog.Logger
	level *slog.LevelVar
	json  *atomic.Bool
}

// NewLog makes a log that writes to w.
func NewLog(w io.Writer, cfg config.Log) *Log {
	l := &Log{level: new(slog.LevelVar), json: new(atomic.Bool)}
	opts := &slog.HandlerOptions{Level: l.level}
	all := &eitherHandler{l.json, slog.NewTextHandler(w, opts), slog.NewJSONHandler(w, opts)}
	report := func(message string, level slog.Level, lines int) {
		slog.New(all).Log(context.Background(), level, "log lines were left out", "lines", lines, "message", message)
	}
	l.Logger = slog.New(&limitHandler{all, &logLimits{report: report, by: map[string]*logBucket{}}})
	l.Set(cfg)
	return l
}

// Set changes level and format.
func (l *Log) Set(cfg config.Log) {
	l.level.Set(cfg.Level)
	l.json.Store(cfg.Format == config.FormatJSON)
}

// eitherHandler passes lines to one of two handlers.
type eitherHandler struct {
	useJSON    *atomic.Bool
	text, json slog.Handler
}

func (h *eitherHandler) current() slog.Handler {
	if h.useJSON.Load() {
		return h.json
	}
	return h.text
}

func (h *eitherHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.current().Enabled(ctx, l)
}

func (h *eitherHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.current().Handle(ctx, r)
}

func (h *eitherHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return &eitherHandler{h.useJSON, h.text.WithAttrs(a), h.json.WithAttrs(a)}
}

func (h *eitherHandler) WithGroup(name string) slog.Handler {
	return &eitherHandler{h.useJSON, h.text.WithGroup(name), h.json.WithGroup(name)}
}
