// Package queue is a first-in, first-out queue without locks of its own.
package queue

// minRing is the smallest capacity of a queue that has been used, elements.
const minRing = 8

// Queue holds elements in the order in which they were pushed. It is a ring that doubles when it is
// full, so that a queue whose length stays within what it once was allocates nothing. The zero value
// is empty. It is not safe for concurrent use.
type Queue[T any] struct {
	ring []T // its length is a power of two, or 0
	head int // index of the oldest element
	n    int
}

// Len is the number of elements.
func (q *Queue[T]) Len() int { return q.n }

// Push appends v.
func (q *Queue[T]) Push(v T) {
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = v
	q.n++
}

// Pop removes the oldest element and returns it. It reports false, and returns the zero value, if the
// queue is empty.
func (q *Queue[T]) Pop() (v T, ok bool) {
	if q.n == 0 {
		return v, false
	}
	p := &q.ring[q.head]
	v = *p
	clear(q.ring[q.head : q.head+1]) // so that the garbage collector can free what the element refers to
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return v, true
}

// At returns element i in queue order; 0 is the oldest. The pointer is valid until the queue changes. At panics unless 0 <= i < Len.
func (q *Queue[T]) At(i int) *T {
	if uint(i) >= uint(q.n) {
		panic("queue: index out of range")
	}
	return &q.ring[(q.head+i)&(len(q.ring)-1)]
}

// Remove removes the first element for which match reports true. The others keep their order.
func (q *Queue[T]) Remove(match func(T) bool) (v T, ok bool) {
	for i := range q.n {
		if v = *q.At(i); match(v) {
			for ; i > 0; i-- {
				*q.At(i) = *q.At(i - 1)
			}
			q.Pop()
			return v, true
		}
	}
	var zero T
	return zero, false
}

func (q *Queue[T]) grow() {
	ring := make([]T, max(minRing, 2*len(q.ring)))
	k := copy(ring, q.ring[q.head:])
	copy(ring[k:], q.ring[:q.head])
	q.ring, q.head = ring, 0
}
