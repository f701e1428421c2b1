package main

import (
	"context"
	"net/netip"
	"slices"

	"fileserver/internal/app/bench"
	"fileserver/smb/client"
)

const smbUser, smbPassword = "bench", "secret"

var smbLoads = []load{
	{"SMB READ 1 MiB, depth 8", false, 1 << 20, 8, 200},
	{"SMB WRITE 1 MiB, depth 8", true, 1 << 20, 8, 200},
	{"SMB random READ 4 KiB, depth 16", false, 4 << 10, 16, 4000},
}

// smbSides are the sessions that are compared.
type smbSides struct {
	direct, tcp, signed, encrypted        *side // of our server
	sambaTCP, sambaSigned, sambaEncrypted *side // of Samba; nil without it
}

// list returns the sessions that exist, in the order of their measurements.
func (s *smbSides) list() []*side {
	all := []*side{s.direct, s.tcp, s.signed, s.encrypted, s.sambaTCP, s.sambaSigned, s.sambaEncrypted}
	return slices.DeleteFunc(all, func(s *side) bool { return s == nil })
}

// dialSMB sets up the sessions.
func (r *rig) dialSMB(ctx context.Context) (s smbSides, err error) {
	dial := func(name, transport string, addr netip.AddrPort, sign, encrypt bool) *side {
		if err != nil {
			return nil
		}
		opt := bench.SMBOptions{Identity: client.Identity{User: smbUser, Password: smbPassword}, Sign: sign, Encrypt: encrypt}
		if err = opt.Choose("3.1.1", "", ""); err != nil {
			return nil
		}
		var made *side
		made, err = r.dial(ctx, name, "smb", transport, addr, opt)
		return made
	}
	s.direct = dial("SMB Direct", "iwarp", r.smbd, false, false)
	s.tcp = dial("TCP", "tcp", r.smb, false, false)
	s.signed = dial("TCP, signed", "tcp", r.smb, true, false)
	s.encrypted = dial("TCP, encrypted", "tcp", r.smb, false, true)
	if r.samba != nil {
		s.sambaTCP = dial("smbd", "tcp", r.samba.addr, false, false)
		s.sambaSigned = dial("smbd, signed", "tcp", r.samba.addr, true, false)
		s.sambaEncrypted = dial("smbd, encrypted", "tcp", r.samba.addr, false, true)
		for _, side := range []*side{s.sambaTCP, s.sambaSigned, s.sambaEncrypted} {
			if side != nil {
				side.cpu = r.samba.cpu
			}
		}
	}
	return s, err
}

// smbRows compares SMB Direct with TCP, signed and encrypted TCP with plain, and each of these over TCP with Samba.
func (r *rig) smbRows(ctx context.Context, rounds, scale int) ([]row, error) {
	s, err := r.dialSMB(ctx)
	sides := s.list()
	defer func() {
		for _, s := range sides {
			s.close()
		}
	}()
	if err != nil {
		return nil, err
	}
	rows := []row{{what: "SMB, with our client"}}
	for _, l := range smbLoads {
		all, err := r.inTurn(ctx, sides, l, rounds, scale)
		if err != nil {
			return nil, err
		}
		add := func(what string, ours, theirs *side) {
			a, b := slices.Index(sides, ours), slices.Index(sides, theirs)
			rows = append(rows, compareCost(l.what+what, l.size, all[a].series, all[b].series))
		}
		add(", SMB Direct beside TCP", s.direct, s.tcp)
		add(", signed beside plain on TCP", s.signed, s.tcp)
		add(", encrypted beside plain on TCP", s.encrypted, s.tcp)
		if r.samba != nil {
			add(", TCP, beside Samba", s.tcp, s.sambaTCP)
			add(", TCP signed, beside Samba", s.signed, s.sambaSigned)
			add(", TCP encrypted, beside Samba", s.encrypted, s.sambaEncrypted)
		}
	}
	return rows, nil
}
