package workers

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

type task struct {
	wg *sync.WaitGroup
	n  *atomic.Int64
}

func (t *task) Run() { t.n.Add(1); t.wg.Done() }

func TestEveryTaskRunsOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	var p Pool
	var wg sync.WaitGroup
	var n atomic.Int64
	for range 10_000 {
		wg.Add(1)
		p.Submit(&task{&wg, &n})
	}
	wg.Wait()
	p.Close()
	if n.Load() != 10_000 {
		t.Fatalf("%d tasks ran, want 10000", n.Load())
	}
}

func TestIdleGoroutinesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		var wg sync.WaitGroup
		var n atomic.Int64
		wg.Add(2)
		p.Submit(&task{&wg, &n})
		p.Submit(&task{&wg, &n})
		wg.Wait()
		time.Sleep(2*idleTime + time.Second)
		synctest.Wait()
		if len(p.idle) != 0 {
			t.Fatalf("%d goroutines are still idle", len(p.idle))
		}
		wg.Add(1)
		p.Submit(&task{&wg, &n}) // and the pool still works
		wg.Wait()
		p.Close()
	})
}

func TestSubmitAllocatesNothing(t *testing.T) {
	var p Pool
	defer p.Close()
	var wg sync.WaitGroup
	var n atomic.Int64
	k := &task{&wg, &n}
	if a := testing.AllocsPerRun(1000, func() { wg.Add(1); p.Submit(k); wg.Wait() }); a > 0 {
		t.Fatalf("%v allocations per task", a)
	}
}
