package smb

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/spnego"
	"fileserver/smb/wire"
)

// Sizes that the server negotiates, bytes.
const (
	smallIO     = 64 << 10 // the largest READ or WRITE of dialect 2.0.2
	maxTransact = 8 << 20
	// messageSlack is the most that a message holds besides its data.
	messageSlack = 1 << 10
	saltLen      = 32
)

var dialects = []wire.Dialect{wire.Dialect311, wire.Dialect302, wire.Dialect300, wire.Dialect210, wire.Dialect202}

// allows reports whether the configuration allows the dialect.
func (s *Server) allows(d wire.Dialect) bool { return d >= s.cfg.MinDialect && d <= s.cfg.MaxDialect }

// negotiateRequest is a NEGOTIATE (MS-SMB2 3.3.5.4).
type negotiateRequest struct {
	needsNothing
	wire.NegotiateRequest
	err error // a client whose request is malformed may try again
}

func parseNegotiate(r *request) (operation, error) {
	q, err := wire.ParseNegotiateRequest(r.msg)
	return &negotiateRequest{NegotiateRequest: q, err: err}, nil
}

func (q *negotiateRequest) run(_ context.Context, r *request) wire.Status {
	c := r.conn
	n, st := c.negotiate(q)
	if st != wire.StatusSuccess {
		c.mu.Lock()
		c.negotiating = false // it may try again
		c.mu.Unlock()
		return st
	}
	resp := c.negotiateResponse(n)
	if n.dialect == wire.Dialect311 {
		resp.Contexts = n.contexts(q.Contexts)
		c.preauth.Add(r.msg)
	}
	r.sealed = func(msg []byte) {
		if n.dialect == wire.Dialect311 {
			c.preauth.Add(msg)
		}
		c.neg.Store(n)
	}
	c.log.Debug("smb: negotiated", "dialect", n.dialect, "cipher", n.cipher, "signing", n.signing, "client", n.clientGUID)
	if err := r.room(smallRoom); err != nil {
		return statusDrop
	}
	return r.reply(&resp)
}

// negotiate chooses from the client's offer.
func (c *Conn) negotiate(q *negotiateRequest) (*negotiated, wire.Status) {
	if q.err != nil || q.Dialects.Len() == 0 {
		return nil, wire.StatusInvalidParameter
	}
	n := &negotiated{
		clientGUID: q.ClientGUID, clientCaps: q.Capabilities, clientSecurity: q.SecurityMode,
		dialects: slices.Clone(q.Dialects),
	}
	i := slices.IndexFunc(dialects, func(d wire.Dialect) bool { return c.srv.allows(d) && q.Dialects.Has(uint16(d)) })
	if i < 0 {
		return nil, wire.StatusNotSupported
	}
	n.dialect = dialects[i]
	n.signing = crypt.AlgorithmOf(crypt.Dialect(n.dialect))
	if n.dialect == wire.Dialect311 {
		if st := n.choose(q.Contexts, c.srv.cfg.Ciphers); st != wire.StatusSuccess {
			return nil, st
		}
	}
	c.settle(n)
	n.leasesOnly = n.linux(&q.NegotiateRequest)
	return n, wire.StatusSuccess
}

// linux reports whether the client is, or may be, Linux cifs with a dialect in which it ignores the breaks of
// oplocks: it would go on caching data and locks after it has acknowledged a break. Linux up to at least 7.2 does
// this with Samba, too. Only Linux sends the context of the POSIX extensions.
func (n *negotiated) linux(q *wire.NegotiateRequest) bool {
	if n.dialect == wire.Dialect311 {
		_, count := q.Contexts.Find(wire.PosixExtensionsAvailable)
		return count > 0
	}
	return n.dialect >= wire.Dialect300
}

// settle fills in the server's properties and capabilities (MS-SMB2 3.3.5.4).
func (c *Conn) settle(n *negotiated) {
	cfg := &c.srv.cfg
	n.serverSecurity = wire.NegotiateSigningEnabled
	if cfg.Signing == Required {
		n.serverSecurity |= wire.NegotiateSigningRequired
	}
	n.maxTransact, n.maxRead, n.maxWrite = smallIO, smallIO, smallIO
	if n.dialect >= wire.Dialect210 && n.dialect != wire.DialectWildcard {
		n.serverCaps |= wire.CapLargeMTU
		n.maxTransact, n.maxRead, n.maxWrite = maxTransact, uint32(cfg.MaxReadWrite), uint32(cfg.MaxReadWrite)
	}
	if n.dialect >= wire.Dialect300 && n.dialect != wire.DialectWildcard && n.clientCaps&wire.CapMultiChannel != 0 && cfg.Interfaces != nil {
		n.serverCaps |= wire.CapMultiChannel
	}
	if (n.dialect == wire.Dialect300 || n.dialect == wire.Dialect302) && n.clientCaps&wire.CapEncryption != 0 &&
		slices.Contains(cfg.Ciphers, crypt.CCM128) {
		n.serverCaps |= wire.CapEncryption
		n.cipher = crypt.CCM128
	}
	if m := c.info.MaxMessage; m > 0 {
		n.maxTransact = min(n.maxTransact, uint32(max(m-messageSlack, 4096)))
	}
	limit := c.info.MaxReadWrite
	if c.placer == nil && c.info.MaxMessage > 0 {
		limit = max(c.info.MaxMessage-messageSlack, 4096)
	}
	if limit > 0 {
		n.maxRead, n.maxWrite = min(n.maxRead, uint32(limit)), min(n.maxWrite, uint32(limit))
	}
}

// maxMessage returns the size, in bytes, of the longest message that the client accepts and that can be encrypted.
func (c *Conn) maxMessage() int {
	const most = slab.MaxSize - headroom - tailroom
	if m := c.info.MaxMessage; m > 0 {
		return min(m, most)
	}
	return most
}

// maxInline returns the most data, in bytes, that a response can carry besides the data that RDMA moves. It is whole
// pages.
func (c *Conn) maxInline() int {
	if m := c.info.MaxMessage; m > 0 {
		return max(m-messageSlack, 4096) &^ 4095
	}
	return 8 << 20
}

// choose chooses from the negotiate contexts (MS-SMB2 3.3.5.4). Contexts of compression and RDMA transforms are only
// checked for being well-formed.
func (n *negotiated) choose(list wire.NegotiateContexts, ciphers []crypt.Cipher) wire.Status {
	preauth, count := list.Find(wire.PreauthIntegrityCapabilities)
	if count != 1 {
		return wire.StatusInvalidParameter
	}
	p, err := wire.ParsePreauthContext(preauth)
	if err != nil || p.Hashes.Len() == 0 {
		return wire.StatusInvalidParameter
	}
	if !p.Hashes.Has(wire.HashSHA512) {
		return wire.StatusSMBNoPreauthOverlap
	}
	n.signing = crypt.AESCMAC
	for _, t := range []wire.NegotiateContextType{
		wire.EncryptionCapabilities, wire.SigningCapabilities, wire.CompressionCapabilities, wire.RDMATransformCapabilities,
		wire.NetnameNegotiateContextID, wire.PosixExtensionsAvailable,
	} {
		data, count := list.Find(t)
		if count == 0 {
			continue
		}
		if count > 1 || n.context(t, data, ciphers) != nil {
			return wire.StatusInvalidParameter
		}
	}
	return wire.StatusSuccess
}

var errEmptyList = errors.New("smb: a list of algorithms without any")

// context handles one negotiate context.
func (n *negotiated) context(t wire.NegotiateContextType, data []byte, ciphers []crypt.Cipher) error {
	var list wire.Uint16s
	var err error
	switch t {
	case wire.EncryptionCapabilities:
		if list, err = wire.ParseAlgorithms(data); err != nil || list.Len() == 0 {
			return errors.Join(err, errEmptyList)
		}
		if i := slices.IndexFunc(ciphers, func(c crypt.Cipher) bool { return list.Has(uint16(c)) }); i >= 0 {
			n.cipher = ciphers[i]
		}
	case wire.SigningCapabilities:
		if list, err = wire.ParseAlgorithms(data); err != nil || list.Len() == 0 {
			return errors.Join(err, errEmptyList)
		}
		for _, a := range []crypt.Algorithm{crypt.AESGMAC, crypt.AESCMAC, crypt.HMACSHA256} {
			if list.Has(uint16(a)) {
				n.signing, n.signingAsked = a, true
				break
			}
		}
	case wire.CompressionCapabilities:
		_, err = wire.ParseCompressionContext(data)
	case wire.RDMATransformCapabilities:
		_, err = wire.ParseRDMATransformContext(data)
	case wire.NetnameNegotiateContextID:
		_, err = wire.ParseNetnameContext(data)
	case wire.PosixExtensionsAvailable:
		n.posix, err = wire.ParsePosixContext(data)
	}
	return err
}

// contexts are the answers to the client's contexts (MS-SMB2 2.2.4.1).
func (n *negotiated) contexts(asked wire.NegotiateContexts) (list wire.NegotiateContexts) {
	list.Add(wire.PreauthIntegrityCapabilities, func(b []byte) []byte {
		salt := make([]byte, saltLen)
		_, _ = rand.Read(salt) // never fails
		return (&wire.PreauthContext{Hashes: wire.AppendUint16s(nil, wire.HashSHA512), Salt: salt}).Append(b)
	})
	if _, count := asked.Find(wire.EncryptionCapabilities); count > 0 {
		list.Add(wire.EncryptionCapabilities, func(b []byte) []byte { return wire.AppendAlgorithms(b, uint16(n.cipher)) })
	}
	if n.signingAsked {
		list.Add(wire.SigningCapabilities, func(b []byte) []byte { return wire.AppendAlgorithms(b, uint16(n.signing)) })
	}
	if n.posix {
		list.Add(wire.PosixExtensionsAvailable, wire.AppendPosixContext)
	}
	return list
}

func (c *Conn) negotiateResponse(n *negotiated) wire.NegotiateResponse {
	return wire.NegotiateResponse{
		SecurityMode: n.serverSecurity, Dialect: n.dialect, ServerGUID: c.srv.cfg.GUID, Capabilities: n.serverCaps,
		MaxTransactSize: n.maxTransact, MaxReadSize: n.maxRead, MaxWriteSize: n.maxWrite,
		SystemTime: wire.FiletimeOf(time.Now()), SecurityBuffer: spnego.Hint(spnego.OIDNTLM),
	}
}

// beginNegotiate notes a multi-protocol negotiate, which is only valid as the first message.
func (c *Conn) beginNegotiate() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.negotiating || !c.window.take(0, 1) {
		return errOrder
	}
	c.negotiating = true
	return nil
}

// multiProtocol answers an SMB1 NEGOTIATE (MS-SMB2 3.3.5.3).
func (cm *compound) multiProtocol() {
	c := cm.conn
	q, err := wire.ParseSMB1Negotiate(cm.buf.Bytes())
	if err != nil {
		c.drop(err)
		return
	}
	n := &negotiated{dialect: wire.DialectWildcard}
	switch {
	case q.SMB2XX && c.srv.cfg.MaxDialect >= wire.Dialect210:
	case q.SMB202 && c.srv.allows(wire.Dialect202):
		n.dialect = wire.Dialect202
	default:
		c.drop(errors.New("smb: the client offers only SMB1"))
		return
	}
	n.signing = crypt.HMACSHA256
	c.settle(n)
	buf, err := c.memory(headroom + wire.HeaderLen + smallRoom + tailroom)
	if err != nil {
		c.drop(err)
		return
	}
	c.mu.Lock()
	h := wire.Header{Command: wire.CmdNegotiate, Flags: wire.FlagServerToRedir, Credits: uint16(c.window.grant(1, earlyCredits))}
	if n.dialect == wire.DialectWildcard {
		c.again = true
	} else {
		c.neg.Store(n)
	}
	c.mu.Unlock()
	resp := c.negotiateResponse(n)
	b := resp.Append(h.Append(buf.Bytes()[headroom:headroom]), 0)
	if err := c.sendOne(buf, len(b), nil); err != nil {
		c.drop(err)
	}
}
