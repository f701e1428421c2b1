package v4

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"fileserver/nfs/v4/state"
)

// recover reads who the server is, and which clients had state in its former run.
func (s *Server) recover(sc *state.Config) (known []string, err error) {
	if s.cfg.Store == nil {
		var id [20]byte
		rand.Read(id[:])
		sc.Instance = binary.BigEndian.Uint32(id[16:]) | 1
		s.owner = hex.EncodeToString(id[:16])
		return nil, nil
	}
	id := s.cfg.Store.ID()
	s.owner = hex.EncodeToString(id[:])
	sc.Instance = uint32(s.cfg.Store.Epoch())
	if s.bucket, err = s.cfg.Store.Bucket("nfs4.clients"); err != nil {
		return nil, fmt.Errorf("v4: client records: %w", err)
	}
	all, err := s.bucket.All()
	if err != nil {
		return nil, fmt.Errorf("v4: client records: %w", err)
	}
	for _, r := range all {
		known = append(known, string(r.Key))
	}
	return known, nil
}

// remember makes sure that a record of the client survives a restart, before it has state.
func (s *Server) remember(c *state.Client) error {
	if !c.NeedsRecord() {
		return nil
	}
	if s.bucket != nil {
		if err := s.bucket.Put([]byte(c.Record()), nil); err != nil {
			s.log.Error("a client's record could not be written", "err", err)
			return err
		}
	}
	c.SetRecorded()
	return nil
}

// forget removes a record.
func (s *Server) forget(record string) {
	if s.bucket == nil {
		return
	}
	if err := s.bucket.Delete([]byte(record)); err != nil {
		s.log.Error("a client's record could not be removed", "err", err)
	}
}
