// Package clock reads the time at half the cost of [time.Now].
package clock

import "time"

// Clock reads the monotonic clock only, so its times do not change when the system's time is set. It is immutable and may be
// copied. The zero Clock counts from the year 1.
type Clock struct{ start time.Time }

// New returns a clock that starts now.
func New() Clock { return Clock{time.Now()} }

// Start returns the time of New.
func (c Clock) Start() time.Time { return c.start }

// Now returns the time.
func (c Clock) Now() time.Time { return c.start.Add(time.Since(c.start)) }

// Since returns the time since New.
func (c Clock) Since() time.Duration { return time.Since(c.start) }
