package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

const (
	progNFS, versNFS4 = 100003, 4
	procCompound      = 1
)

// MountV4 mounts an export with version 4.minor; minor is 1 or 2. It owns c, and closes it if the mount fails.
func MountV4(ctx context.Context, c Caller, minor int, o Options) (Client, error) {
	m := &clientV4{c: c, minor: uint32(minor), opt: o}
	err := m.connect(ctx)
	if err == nil {
		err = m.findRoot(ctx)
	}
	if err != nil {
		_ = m.Close(ctx)
		return nil, err
	}
	return m, nil
}

// clientV4 is a client ID with one session on one connection (RFC 8881 2.4, 2.10).
type clientV4 struct {
	c     Caller
	minor uint32
	opt   Options

	id                uint64
	session           proto.SessionID
	live              bool
	slots             chan uint32 // the free slots
	seq               []uint32    // last sequence ID by slot; the holder of the slot uses its entry
	root              []byte      // file handle
	maxRead, maxWrite int
}

func (m *clientV4) Version() string { return fmt.Sprintf("4.%d", m.minor) }
func (m *clientV4) MaxRead() int    { return m.maxRead }
func (m *clientV4) MaxWrite() int   { return m.maxWrite }
func (m *clientV4) Slots() int      { return cap(m.slots) }

// connect creates a client ID and a session.
func (m *clientV4) connect(ctx context.Context) error {
	s, err := m.c.NewSlot(ctx, 0)
	if err != nil {
		return err
	}
	defer s.Release()
	r := &compound{m: m, io: io{slot: s}}
	seq, err := m.exchangeID(ctx, r)
	if err != nil {
		return err
	}
	if err := m.createSession(ctx, r, seq); err != nil {
		return err
	}
	r.begin()
	r.op(proto.OpReclaimComplete)
	r.args = xdr.AppendBool(r.args, false) // all file systems
	d, err := r.run(ctx)
	if err == nil {
		err = r.result(d, proto.OpReclaimComplete)
	}
	if errors.Is(err, proto.ErrCompleteAlready) {
		err = nil
	}
	return err
}

// exchangeID sends EXCHANGE_ID (RFC 8881 18.35). The owner is random, so that every mount is a client of its own.
func (m *clientV4) exchangeID(ctx context.Context, r *compound) (seq uint32, err error) {
	var random [24]byte
	_, _ = rand.Read(random[:]) // never fails
	r.bare()
	r.op(proto.OpExchangeID)
	r.args = append(r.args, random[:8]...) // co_verifier
	r.args = xdr.AppendString(r.args, fmt.Sprintf("fileserver bench %x", random[8:]))
	for range 3 { // no flags, SP4_NONE, no nfs_impl_id4
		r.args = xdr.AppendUint32(r.args, 0)
	}
	d, err := r.send(ctx)
	if err == nil {
		err = r.result(d, proto.OpExchangeID)
	}
	if err != nil {
		return 0, err
	}
	m.id, seq = d.Uint64(), d.Uint32()
	return seq, d.Err()
}

// createSession sends CREATE_SESSION (RFC 8881 18.36), without a back channel.
func (m *clientV4) createSession(ctx context.Context, r *compound, seq uint32) error {
	const room = 8 << 10 // for headers and the other operations, bytes
	size := uint32(max(m.opt.MaxIO, 64<<10) + room)
	fore := proto.ChannelAttrs{
		MaxRequest: size, MaxResponse: size, MaxResponseCached: 4 << 10, MaxOps: 16, MaxRequests: uint32(max(m.opt.Slots, 1) + 1),
	}
	back := proto.ChannelAttrs{MaxRequest: 4 << 10, MaxResponse: 4 << 10, MaxOps: 2, MaxRequests: 1}
	r.bare()
	r.op(proto.OpCreateSession)
	r.args = xdr.AppendUint32(xdr.AppendUint64(r.args, m.id), seq)
	r.args = xdr.AppendUint32(r.args, 0) // no flags
	r.args = back.Append(fore.Append(r.args))
	for _, v := range [...]uint32{1 << 30, 1, 0} { // a callback program that is never called, and AUTH_NONE
		r.args = xdr.AppendUint32(r.args, v)
	}
	d, err := r.send(ctx)
	if err == nil {
		err = r.result(d, proto.OpCreateSession)
	}
	if err != nil {
		return err
	}
	m.session = proto.DecodeSessionID(d)
	d.Uint32() // csr_sequence
	d.Uint32() // csr_flags
	fore = proto.DecodeChannelAttrs(d)
	if err := d.Err(); err != nil {
		return err
	}
	if fore.MaxRequests == 0 || fore.MaxRequest < room || fore.MaxResponse < room {
		return fmt.Errorf("the server's session allows %d requests of %d bytes at once, which is too little", fore.MaxRequests, fore.MaxRequest)
	}
	slots := min(fore.MaxRequests, uint32(max(m.opt.Slots, 1)+1))
	m.slots, m.seq = make(chan uint32, slots), make([]uint32, slots)
	for i := range slots {
		m.slots <- i
	}
	m.maxRead, m.maxWrite = int(fore.MaxResponse)-overhead, int(fore.MaxRequest)-overhead
	m.live = true
	return nil
}

// findRoot looks up the export, starting at the root of the pseudo file system.
func (m *clientV4) findRoot(ctx context.Context) error {
	var names []string
	if p := strings.Trim(m.opt.Path, "/"); p != "" {
		names = strings.Split(p, "/")
	}
	h, d, err := m.walk(ctx, nil, names, proto.Bits(proto.AttrMaxRead, proto.AttrMaxWrite))
	if err != nil {
		return fmt.Errorf("export %s: %w", m.opt.Path, err)
	}
	if d.Len() >= 16 {
		m.maxRead = min(m.maxRead, int(min(d.Uint64(), 1<<30)))
		m.maxWrite = min(m.maxWrite, int(min(d.Uint64(), 1<<30)))
	}
	m.root = h
	return nil
}

// walk looks up names one below the other, starting at dir, or at the root if dir is nil. It returns the handle and the
// attributes of the last.
func (m *clientV4) walk(ctx context.Context, dir []byte, names []string, want proto.Bitmap) (h []byte, attrs *xdr.Decoder, err error) {
	err = m.meta(ctx, func(r *compound) {
		r.at(dir)
		for _, n := range names {
			r.op(proto.OpLookup)
			r.args = xdr.AppendString(r.args, n)
		}
		r.op(proto.OpGetFH)
		r.op(proto.OpGetAttr)
		r.args = want.Append(r.args)
	}, func(r *compound, d *xdr.Decoder) error {
		if err := r.results(d, proto.OpPutFH); err != nil {
			return err
		}
		for _, n := range names {
			if err := r.result(d, proto.OpLookup); err != nil {
				return fmt.Errorf("%s: %w", n, err)
			}
		}
		if err := r.result(d, proto.OpGetFH); err != nil {
			return err
		}
		h = append([]byte(nil), d.Opaque(proto.FHSize)...)
		attrs, err = r.attrs(d)
		return err
	})
	return h, attrs, err
}

// meta makes one COMPOUND without bulk data, and repeats it while the server answers NFS4ERR_DELAY or NFS4ERR_GRACE.
func (m *clientV4) meta(ctx context.Context, build func(*compound), parse func(*compound, *xdr.Decoder) error) error {
	s, err := m.c.NewSlot(ctx, 0)
	if err != nil {
		return err
	}
	defer s.Release()
	r := &compound{m: m, io: io{slot: s}}
	for try := 0; ; try++ {
		r.begin()
		build(r)
		d, err := r.run(ctx)
		if err == nil {
			if err = parse(r, d); err == nil {
				err = d.Err()
			}
		}
		grace := errors.Is(err, proto.ErrGrace)
		if !grace && !errors.Is(err, proto.ErrDelay) {
			return err
		}
		if grace && m.opt.Notice != nil && try == 0 {
			m.opt.Notice("the server has just started and lets clients reclaim their state first (NFS4ERR_GRACE): waiting until it is done")
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// Remove implements [Client].
func (m *clientV4) Remove(ctx context.Context, name string) error {
	dir, base, err := m.parent(ctx, name)
	if err != nil {
		return err
	}
	return m.meta(ctx, func(r *compound) {
		r.at(dir)
		r.op(proto.OpRemove)
		r.args = xdr.AppendString(r.args, base)
	}, func(r *compound, d *xdr.Decoder) error {
		return r.results(d, proto.OpPutFH, proto.OpRemove)
	})
}

// parent looks up the directory of a name.
func (m *clientV4) parent(ctx context.Context, name string) (dir []byte, base string, err error) {
	parts := strings.Split(strings.Trim(name, "/"), "/")
	base = parts[len(parts)-1]
	if len(parts) == 1 {
		return m.root, base, nil
	}
	dir, _, err = m.walk(ctx, m.root, parts[:len(parts)-1], proto.Bitmap{})
	return dir, base, err
}

// Close destroys the session and the client ID if the server still answers, and closes the connection.
func (m *clientV4) Close(ctx context.Context) error {
	if m.live {
		if s, err := m.c.NewSlot(ctx, 0); err == nil {
			r := &compound{m: m, io: io{slot: s}}
			r.bare()
			r.op(proto.OpDestroySession)
			r.args = append(r.args, m.session[:]...)
			if _, err := r.send(ctx); err == nil {
				r.bare()
				r.op(proto.OpDestroyClientID)
				r.args = xdr.AppendUint64(r.args, m.id)
				_, _ = r.send(ctx) // if it fails, the client ID ends with its lease
			}
			_ = s.Release()
		}
		m.live = false
	}
	return m.c.Close()
}
