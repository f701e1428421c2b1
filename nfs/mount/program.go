package mount

import (
	"context"

	"fileserver/nfs"
	"fileserver/nfs/rpc"
)

// Program and version numbers (RFC 1813 appendix I).
const (
	Program = 100005
	Version = 3
)

// Procedure numbers (RFC 1813 appendix I).
const (
	ProcNull    = 0
	ProcMnt     = 1
	ProcDump    = 2
	ProcUmnt    = 3
	ProcUmntall = 4
	ProcExport  = 5
)

// Specification constants (RFC 1813 appendix I).
const (
	maxPath = 1024 // MNTPATHLEN, bytes
	maxName = 255  // MNTNAMLEN, bytes
	maxFH   = 64   // FHSIZE3, bytes
)

// Status is mountstat3 (RFC 1813 appendix I).
type Status uint32

// Statuses.
const (
	OK             Status = 0
	ErrPerm        Status = 1
	ErrNoEnt       Status = 2
	ErrIO          Status = 5
	ErrAcces       Status = 13
	ErrNotDir      Status = 20
	ErrInval       Status = 22
	ErrNameTooLong Status = 63
	ErrNotSupp     Status = 10004
	ErrServerFault Status = 10006
)

var statusText = map[Status]string{
	OK: "MNT3_OK", ErrPerm: "MNT3ERR_PERM", ErrNoEnt: "MNT3ERR_NOENT", ErrIO: "MNT3ERR_IO", ErrAcces: "MNT3ERR_ACCES",
	ErrNotDir: "MNT3ERR_NOTDIR", ErrInval: "MNT3ERR_INVAL", ErrNameTooLong: "MNT3ERR_NAMETOOLONG",
	ErrNotSupp: "MNT3ERR_NOTSUPP", ErrServerFault: "MNT3ERR_SERVERFAULT",
}

// String is the name in RFC 1813.
func (s Status) String() string {
	if t, ok := statusText[s]; ok {
		return t
	}
	return "mountstat3?"
}

type server struct {
	exports *nfs.Exports
	table   table
}

// New makes the program to be registered with an [rpc.Server].
func New(exports *nfs.Exports) *rpc.Program {
	s := &server{exports: exports}
	return &rpc.Program{
		Prog: Program, Vers: Version, Name: "mount",
		StatusText: func(v uint32) string { return Status(v).String() },
		Procs: []rpc.Procedure{
			ProcNull:    {Name: "NULL"},
			ProcMnt:     {Name: "MNT", Serve: s.mnt},
			ProcDump:    {Name: "DUMP", Serve: s.dump},
			ProcUmnt:    {Name: "UMNT", Serve: s.umnt},
			ProcUmntall: {Name: "UMNTALL", Serve: s.umntall},
			ProcExport:  {Name: "EXPORT", Serve: s.export},
		},
	}
}

func (s *server) umnt(_ context.Context, c *rpc.Call, _ *rpc.Reply) rpc.AcceptStat {
	var a PathArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	s.table.remove(client(c), a.Path)
	return rpc.Success
}

func (s *server) umntall(_ context.Context, c *rpc.Call, _ *rpc.Reply) rpc.AcceptStat {
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	s.table.removeAll(client(c))
	return rpc.Success
}
