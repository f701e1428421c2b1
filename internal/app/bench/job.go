package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// job is a connection, a file, and the workers on it.
type job struct {
	r       *run
	n       int
	name    string
	id      uint64 // of the file, in its data
	s       Session
	f       File
	workers []*worker
	laid    bool // the file is whole, of this run or one before
	foreign bool // the file is not ours

	blocks int64
	// state is the generation of each block, as far as it is known, and whether somebody writes it.
	state []atomic.Uint32
	next  atomic.Int64 // block, of work in sequence
	gen   atomic.Uint32
}

const busy = 1 << 31

// worker keeps one request outstanding.
type worker struct {
	j    *job
	io   IO
	size int // bytes of a request: whole blocks
	rand *rand.PCG

	// For who watches.
	began atomic.Int64 // of the request outstanding, since the run's base; 0: none
	ops   atomic.Int64
	bytes atomic.Int64

	c counts
}

// counts are a worker's figures.
type counts struct {
	read, write           hist
	bytesRead, bytesWrote int64
	offloaded, inline     int64 // bytes
	checked               int64 // bytes
	_                     [64]byte
}

// How long a server may take to answer: to opens longer, as after a restart it waits for clients that had files open (RFC 8881 8.4.2).
const (
	dialTime = 20 * time.Second
	openTime = 3 * time.Minute
)

func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("the server did not answer within %v", d))
}

// dial connects.
func (j *job) dial(ctx context.Context) error {
	ctx, cancel := within(ctx, dialTime)
	defer cancel()
	var err error
	if j.s, err = Dial(ctx, &j.r.cfg.Target); err != nil {
		return err
	}
	return j.r.fits(j.s.Limits())
}

// open opens the job's file.
func (j *job) open(ctx context.Context) error {
	ctx, cancel := within(ctx, openTime)
	defer cancel()
	var err error
	if j.f, err = j.s.Open(ctx, j.name); err != nil {
		return err
	}
	if j.workers, err = j.hire(ctx, j.r.cfg.Depth, j.r.cfg.BlockSize); err != nil {
		return err
	}
	j.blocks = j.r.cfg.Size / int64(j.r.cfg.BlockSize)
	j.state = make([]atomic.Uint32, j.blocks)
	j.gen.Store(uint32(rand.Uint64()))
	return j.look(ctx)
}

// hire makes workers for requests of size bytes.
func (j *job) hire(ctx context.Context, n, size int) (list []*worker, err error) {
	for i := range n {
		io, err := j.f.NewIO(ctx, size)
		if err != nil {
			dismiss(list)
			return nil, err
		}
		list = append(list, &worker{j: j, io: io, size: size, rand: rand.NewPCG(j.r.cfg.Seed, uint64(j.n)<<32|uint64(i))})
	}
	return list, nil
}

func dismiss(list []*worker) {
	for _, w := range list {
		_ = w.io.Release() // of memory of this process
	}
}

// look checks whether an existing file was written by bench. Other files are not touched.
func (j *job) look(ctx context.Context) error {
	if j.f.Size() == 0 {
		return nil
	}
	var b []byte
	var err error
	if j.f.Size() >= cell {
		b, err = j.workers[0].io.Read(ctx, 0, cell)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", j.name, err)
	}
	gen := uint32(0)
	if len(b) == cell {
		gen, err = check(b, j.id, 0, 0)
	}
	if err != nil || len(b) < cell {
		j.foreign = true
		return fmt.Errorf("%s exists, and no run of bench has written it: it is left as it is; remove it, or choose another --name", j.name)
	}
	j.laid = gen != 0 && j.f.Size() >= uint64(j.r.cfg.Size)
	return nil
}

// generation is a new one.
func (j *job) generation() uint32 {
	for {
		if g := j.gen.Add(1) & genMask; g != 0 {
			return g
		}
	}
}

// take reserves a block for writing, or for a read that must not meet a write; what is the generation there.
func (j *job) take(b int64) (gen uint32, ok bool) {
	v := j.state[b].Load()
	return v, v&busy == 0 && j.state[b].CompareAndSwap(v, v|busy)
}

// pick returns the next block to work on. If the phase writes, it reserves the block, so that no other worker uses it.
func (w *worker) pick(p *phase) (block int64, write bool, gen uint32, ok bool) {
	j := w.j
	for !j.r.stopping.Load() {
		if block, write, ok = p.pick(w); !ok {
			return 0, false, 0, false
		}
		if !p.exclusive {
			return block, write, j.state[block].Load(), true
		}
		if gen, ok = j.take(block); ok {
			return block, write, gen, true
		}
		if p.counted {
			j.next.Add(-1)
		}
	}
	return 0, false, 0, false
}

// work does what the phase says until that ends, or something goes wrong.
func (w *worker) work(ctx context.Context, p *phase) {
	j, r := w.j, w.j.r
	for {
		block, write, gen, ok := w.pick(p)
		if !ok {
			return
		}
		off := uint64(block) * uint64(w.size)
		n := int(min(int64(w.size), r.cfg.Size-int64(off)))
		found, err := gen, error(nil)
		if write {
			found, err = w.write(ctx, p, off, n)
		} else {
			found, err = w.read(ctx, p, off, n, gen)
		}
		if p.exclusive || p.lays || gen == 0 {
			for b, bs := off, uint64(r.cfg.BlockSize); b < off+uint64(n); b += bs {
				j.state[b/bs].Store(found)
			}
		}
		if err != nil {
			r.fail(w, write, off, err)
			return
		}
		if r.now() >= p.until {
			return
		}
	}
}

// write writes a new generation and returns it. After an error the contents of the block are unknown.
func (w *worker) write(ctx context.Context, p *phase, off uint64, n int) (uint32, error) {
	gen := w.j.generation()
	fill(w.io.Data()[:n], w.j.id, off, gen)
	begin := w.begin()
	err := w.io.Write(ctx, off, n)
	took := w.end(begin)
	if err != nil {
		return 0, err
	}
	if p.measured {
		w.c.write.add(took)
		w.c.bytesWrote += int64(n)
		w.moved(n)
	}
	w.count(n)
	return gen, nil
}

// read reads, and checks what it has read.
func (w *worker) read(ctx context.Context, p *phase, off uint64, n int, gen uint32) (uint32, error) {
	begin := w.begin()
	b, err := w.io.Read(ctx, off, n)
	took := w.end(begin)
	if err != nil {
		return gen, err
	}
	if p.measured {
		w.c.read.add(took)
		w.c.bytesRead += int64(n)
		w.moved(n)
	}
	w.count(n)
	if w.j.r.cfg.Verify == VerifyOff && p.measured {
		return gen, nil
	}
	found, err := check(b, w.j.id, off, gen)
	if err == nil {
		w.c.checked += int64(n)
	}
	return found, err
}

func (w *worker) begin() int64 {
	t := w.j.r.now()
	w.began.Store(t)
	return t
}

func (w *worker) end(begin int64) time.Duration {
	w.began.Store(0)
	return time.Duration(w.j.r.now() - begin)
}

func (w *worker) moved(n int) {
	if w.io.Offloaded() {
		w.c.offloaded += int64(n)
	} else {
		w.c.inline += int64(n)
	}
}

func (w *worker) count(n int) {
	w.ops.Add(1)
	w.bytes.Add(int64(n))
}
