// Package clock reads the time for half of what [time.Now] costs.
package clock

import "time"

// Clock reads the monotonic clock only, and counts from the time when it was made: what it returns does not follow
// when the system's time is set. It does not change, and may be copied. The zero Clock counts from the year 1.
type Clock struct{ start time.Time }

// New makes a clock.
func New() Clock { return Clock{time.Now()} }

// Start is when the clock was made.
func (c Clock) Start() time.Time { return c.start }

// Now is the time.
func (c Clock) Now() time.Time { return c.start.Add(time.Since(c.start)) }

// Since is the time that has passed since the clock was made.
func (c Clock) Since() time.Duration { return time.Since(c.start) }
