package main

import (
	"context"
	"net/netip"

	"fileserver/internal/app/bench"
	"fileserver/smb/client"
)

const smbUser, smbPassword = "bench", "secret"

var smbLoads = []load{
	{"SMB READ 1 MiB, depth 8", false, 1 << 20, 8, 200},
	{"SMB WRITE 1 MiB, depth 8", true, 1 << 20, 8, 200},
	{"SMB random READ 4 KiB, depth 16", false, 4 << 10, 16, 4000},
}

// smbRows measures SMB over SMB Direct beside TCP, and TCP signed and encrypted beside plain.
func (r *rig) smbRows(ctx context.Context, rounds, scale int) (rows []row, err error) {
	var sides []*side
	defer func() {
		for _, s := range sides {
			s.close()
		}
	}()
	add := func(name, transport string, addr netip.AddrPort, sign, encrypt bool) {
		if err != nil {
			return
		}
		opt := bench.SMBOptions{Identity: client.Identity{User: smbUser, Password: smbPassword}, Sign: sign, Encrypt: encrypt}
		if err = opt.Choose("3.1.1", "", ""); err != nil {
			return
		}
		var s *side
		if s, err = r.dial(ctx, name, "smb", transport, addr, opt); err == nil {
			sides = append(sides, s)
		}
	}
	add("SMB Direct", "iwarp", r.smbd, false, false)
	add("TCP", "tcp", r.smb, false, false)
	add("TCP, signed", "tcp", r.smb, true, false)
	add("TCP, encrypted", "tcp", r.smb, false, true)
	if r.samba != nil {
		add("smbd", "tcp", r.samba.addr, false, false)
		add("smbd, signed", "tcp", r.samba.addr, true, false)
		add("smbd, encrypted", "tcp", r.samba.addr, false, true)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range sides[4:] {
		s.cpu = r.samba.cpu
	}
	rows = append(rows, row{what: "SMB, with our client"})
	for _, l := range smbLoads {
		f, err := r.inTurn(ctx, sides, l, rounds, scale)
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			compareCost(l.what+", SMB Direct beside TCP", l.size, f[0].series, f[1].series),
			compareCost(l.what+", signed beside plain on TCP", l.size, f[2].series, f[1].series),
			compareCost(l.what+", encrypted beside plain on TCP", l.size, f[3].series, f[1].series))
		if r.samba != nil {
			rows = append(rows,
				compareCost(l.what+", TCP, beside Samba", l.size, f[1].series, f[4].series),
				compareCost(l.what+", TCP signed, beside Samba", l.size, f[2].series, f[5].series),
				compareCost(l.what+", TCP encrypted, beside Samba", l.size, f[3].series, f[6].series))
		}
	}
	return rows, nil
}
