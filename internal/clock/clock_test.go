package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		start := time.Now()
		time.Sleep(time.Minute)
		if got := c.Now(); !got.Equal(time.Now()) || !c.Start().Equal(start) {
			t.Errorf("%v, started %v; want %v, %v", got, c.Start(), time.Now(), start)
		}
		if got := c.Since(); got != time.Minute {
			t.Errorf("%v since the start", got)
		}
		if got := c.Now().Sub(start); got != time.Minute {
			t.Errorf("%v after the start", got)
		}
	})
}

func BenchmarkNow(b *testing.B) {
	c := New()
	for b.Loop() {
		c.Now()
	}
}

func BenchmarkTimeNow(b *testing.B) {
	for b.Loop() {
		time.Now()
	}
}
