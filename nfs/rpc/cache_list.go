package rpc

import (
	"container/heap"
	"net/netip"
)

// cacheClient is the replies kept for one client address.
type cacheClient struct {
	addr   netip.Addr
	oldest *cacheEntry
	newest *cacheEntry
	cost   int
	index  int // in the heap
	spare  *cacheClient
}

// clientHeap has the client that keeps most on top.
type clientHeap []*cacheClient

func (h clientHeap) Len() int           { return len(h) }
func (h clientHeap) Less(i, j int) bool { return h[i].cost > h[j].cost }
func (h clientHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *clientHeap) Push(v any) {
	c := v.(*cacheClient)
	c.index = len(*h)
	*h = append(*h, c)
}
func (h *clientHeap) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return c
}

func (e *cacheEntry) cost() int { return entryOverhead + cap(e.reply) }

// linkLocked puts a finished entry at the end of both lists.
func (x *cache) linkLocked(e *cacheEntry) {
	cl := x.clients[e.key.addr]
	if cl == nil {
		if cl = x.spare; cl != nil {
			x.spare = cl.spare
			*cl = cacheClient{}
		} else {
			cl = new(cacheClient)
		}
		cl.addr = e.key.addr
		x.clients[cl.addr] = cl
		heap.Push(&x.byCost, cl)
	}
	e.client = cl
	if e.older = x.newest; e.older != nil {
		e.older.newer = e
	} else {
		x.oldest = e
	}
	x.newest = e
	if e.clientOlder = cl.newest; e.clientOlder != nil {
		e.clientOlder.clientNewer = e
	} else {
		cl.oldest = e
	}
	cl.newest = e
	x.count++
	x.bytes += e.cost()
	cl.cost += e.cost()
	heap.Fix(&x.byCost, cl.index)
}

// evictLocked forgets a finished entry.
func (x *cache) evictLocked(e *cacheEntry) {
	cl := e.client
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		x.oldest = e.newer
	}
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		x.newest = e.older
	}
	if e.clientOlder != nil {
		e.clientOlder.clientNewer = e.clientNewer
	} else {
		cl.oldest = e.clientNewer
	}
	if e.clientNewer != nil {
		e.clientNewer.clientOlder = e.clientOlder
	} else {
		cl.newest = e.clientOlder
	}
	x.count--
	x.bytes -= e.cost()
	cl.cost -= e.cost()
	if cl.oldest == nil {
		heap.Remove(&x.byCost, cl.index)
		delete(x.clients, cl.addr)
		cl.spare, x.spare = x.spare, cl
	} else {
		heap.Fix(&x.byCost, cl.index)
	}
	delete(x.entries, e.key)
	x.recycleLocked(e)
}

// maxKeptReply is the capacity of a reply worth keeping for the next entry, bytes.
const maxKeptReply = 1024

// recycleLocked keeps the memory of an entry for the next.
func (x *cache) recycleLocked(e *cacheEntry) {
	reply := e.reply[:0]
	if cap(reply) > maxKeptReply {
		reply = nil
	}
	*e = cacheEntry{reply: reply, newer: x.free}
	x.free = e
}

// newEntryLocked returns an empty entry.
func (x *cache) newEntryLocked() *cacheEntry {
	e := x.free
	if e == nil {
		return new(cacheEntry)
	}
	x.free = e.newer
	e.newer = nil
	return e
}
