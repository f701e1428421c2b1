package rdmatest

import (
	"io"
	"log/slog"
	"os"
	"testing"
)

// Log is what a provider under test logs to: standard error, and everything, where the environment variable RDMA_LOG is set, for
// people who look for a fault; otherwise nothing.
func Log() *slog.Logger {
	if os.Getenv("RDMA_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Opened takes what a provider's constructor returns. It ends the test where that is an error; otherwise the provider is closed when
// the test ends, which has to go well.
func Opened[P io.Closer](t testing.TB, p P, err error) P {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("closing the provider: %v", err)
		}
	})
	return p
}
