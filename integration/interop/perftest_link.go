package interop

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"fileserver/rdma"
)

const (
	slots      = 4 // buffers that the RECVs of a connection share, as in perftest
	sends      = 16
	creditSize = 4
)

// link is one connection of a session. Its memory holds slots for messages, then credits.
type link struct {
	*session
	*conn
	m        *memory
	size     int    // of a slot, bytes
	index    int    // of the data connection
	sending  int    // requests without a completion
	received uint32 // messages
	bytes    int64  // in these messages
	answered int
	credits  int
	credited uint32 // received, as last written to the client
}

// serve accepts the connection and passes completions to arrived, until the client ends the connection.
func (k *link) serve(ctx context.Context, id rdma.ID, recvs int, arrived func([]rdma.WC) error) error {
	m, err := register(ctx, k.cfg.Pool, k.pd, slots*k.size+sends*creditSize, rdma.AccessLocalWrite)
	if err != nil {
		return errors.Join(err, id.Close())
	}
	k.m = m
	if k.conn, err = open(id, k.pd, sends, recvs); err != nil {
		return errors.Join(err, id.Close(), m.close())
	}
	for i := range recvs {
		if err == nil {
			err = k.expect(uint64(i))
		}
	}
	if err == nil {
		err = k.accept()
	}
	for err == nil {
		var wcs []rdma.WC
		if wcs, err = k.poll(ctx); err == nil {
			err = arrived(wcs)
		}
	}
	if errors.Is(err, errEnded) {
		err = nil
	}
	return errors.Join(err, k.close(), m.close())
}

func (k *link) slot(recv uint64) int { return int(recv%slots) * k.size }

// expect posts a RECV.
func (k *link) expect(recv uint64) error {
	return k.posted(k.recv(recv, k.m.sge(k.slot(recv), k.size)))
}

// answer sends a message of the same length back, from the same slot.
func (k *link) answer(wc rdma.WC) error {
	if err := k.expect(wc.ID); err != nil {
		return err
	}
	k.sending++
	k.answered++
	// The client waits for the answer, so nothing arrives in the slot before the answer is sent.
	err := k.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: []rdma.SGE{k.m.sge(k.slot(wc.ID), int(wc.ByteLen))}}})
	return k.posted(err)
}

// agree answers the messages on the control connection: keys with our keys, and all
// others unchanged (version, sizes of pages and cache lines, MTU, results).
func (k *link) agree(wcs []rdma.WC) error {
	for _, wc := range wcs {
		if wc.Opcode != rdma.OpRecv {
			k.sending--
			continue
		}
		msg := k.m.bytes()[k.slot(wc.ID):][:wc.ByteLen]
		k.mu.Lock()
		switch len(msg) {
		case keysSize:
			theirs, err := parseKeys(msg)
			if err != nil {
				k.mu.Unlock()
				return err
			}
			k.keys = append(k.keys, theirs)
			keys{outReads: theirs.outReads, qpn: k.qp.Num(), rkey: k.open.mr.RKey(), addr: k.open.mr.Addr()}.append(msg[:0])
		case numberSize:
			k.numbers = append(k.numbers, binary.BigEndian.Uint64(msg))
		}
		k.mu.Unlock()
		if err := k.answer(wc); err != nil {
			return err
		}
	}
	return nil
}

// data receives messages. It answers those of a latency test. For ib_send_bw on iWARP,
// where a SEND must find a posted RECV, it tells the client how many have arrived.
func (k *link) data(wcs []rdma.WC) error {
	for _, wc := range wcs {
		if wc.Opcode != rdma.OpRecv {
			k.sending--
			continue
		}
		k.received++
		k.bytes += int64(wc.ByteLen)
		reply := k.expect
		if k.cfg.Test == TestSendLat {
			reply = func(uint64) error { return k.answer(wc) }
		}
		if err := reply(wc.ID); err != nil {
			return err
		}
	}
	if k.cfg.Test != TestSendBW || k.id.Device().Caps().RNR {
		return nil
	}
	if k.received-k.credited < uint32(max(1, k.cfg.RecvDepth/4)) || k.sending == sends {
		return nil // the next completion calls data again
	}
	return k.credit()
}

// credit WRITEs the number of messages received to the address in the client's keys, in
// little endian, which is the byte order of PCs. The first two keys are not for data
// connections: one is exchanged before these are made, and one after.
func (k *link) credit() error {
	k.mu.Lock()
	at := 2 + k.index
	if at >= len(k.keys) {
		k.mu.Unlock()
		return fmt.Errorf("interop: perftest: data connection %d has received %d messages, but the client has sent no keys for it", k.index, k.received)
	}
	to := k.keys[at]
	k.mu.Unlock()
	off := slots*k.size + k.credits%sends*creditSize
	binary.LittleEndian.PutUint32(k.m.bytes()[off:], k.received)
	k.credited = k.received
	k.credits++
	k.sending++
	err := k.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpWrite, Flags: rdma.SendSignaled, SGL: []rdma.SGE{k.m.sge(off, creditSize)}, RemoteAddr: to.addr, RKey: to.rkey}})
	return k.posted(err)
}
