package verbs

import (
	"log/slog"
	"time"
)

// DefaultSpin is how long a completion queue is polled before its waiter sleeps,
// at most, where the config does not say. It is a few times what waking a
// goroutine costs.
const DefaultSpin = 20 * time.Microsecond

// Config describes a provider.
type Config struct {
	Log *slog.Logger // nil: none
	// Spin bounds the time a waiter polls before it sleeps; 0 is DefaultSpin, less
	// is none. Queues for which it does not pay spin less, and with one CPU none
	// does.
	Spin time.Duration
}
