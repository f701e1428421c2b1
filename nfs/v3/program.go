package v3

import (
	"fileserver/nfs"
	"fileserver/nfs/rpc"
	"fileserver/vfs/lock"
)

// Program and version numbers (RFC 1813 3).
const (
	Program = 100003
	Version = 3
)

// Procedure numbers (RFC 1813 3).
const (
	ProcNull        = 0
	ProcGetattr     = 1
	ProcSetattr     = 2
	ProcLookup      = 3
	ProcAccess      = 4
	ProcReadlink    = 5
	ProcRead        = 6
	ProcWrite       = 7
	ProcCreate      = 8
	ProcMkdir       = 9
	ProcSymlink     = 10
	ProcMknod       = 11
	ProcRemove      = 12
	ProcRmdir       = 13
	ProcRename      = 14
	ProcLink        = 15
	ProcReaddir     = 16
	ProcReaddirplus = 17
	ProcFsstat      = 18
	ProcFsinfo      = 19
	ProcPathconf    = 20
	ProcCommit      = 21
)

// DefaultMaxIO is the most data of a READ or WRITE where the Config states none, bytes.
const DefaultMaxIO = 1 << 20

// Sizes of directory reads, bytes.
const (
	prefDir = 64 << 10  // advertised
	maxDir  = 256 << 10 // most returned, whatever is asked for
)

// Config configures the program.
type Config struct {
	Exports  *nfs.Exports
	Verifier *nfs.WriteVerifier
	// Locks is the arbiter of all protocols; nil: one of its own.
	Locks *lock.Manager
	// MaxIO is the most data of one READ or WRITE, bytes; 0: DefaultMaxIO.
	MaxIO uint32
}

type server struct {
	cfg Config
}

// New makes the program to be registered with an [rpc.Server].
func New(cfg Config) *rpc.Program {
	if cfg.Locks == nil {
		cfg.Locks = lock.New()
	}
	if cfg.MaxIO == 0 {
		cfg.MaxIO = DefaultMaxIO
	}
	s := &server{cfg}
	return &rpc.Program{
		Prog: Program, Vers: Version, Name: "nfs",
		StatusText: func(v uint32) string { return Status(v).String() },
		Procs: []rpc.Procedure{
			ProcNull:        {Name: "NULL"},
			ProcGetattr:     {Name: "GETATTR", Serve: s.getattr},
			ProcSetattr:     {Name: "SETATTR", Serve: s.setattr, Cache: true},
			ProcLookup:      {Name: "LOOKUP", Serve: s.lookup},
			ProcAccess:      {Name: "ACCESS", Serve: s.access},
			ProcReadlink:    {Name: "READLINK", Serve: s.readlink},
			ProcRead:        {Name: "READ", Serve: s.read},
			ProcWrite:       {Name: "WRITE", Serve: s.write, Cache: true, Bulk: true},
			ProcCreate:      {Name: "CREATE", Serve: s.create, Cache: true},
			ProcMkdir:       {Name: "MKDIR", Serve: s.mkdir, Cache: true},
			ProcSymlink:     {Name: "SYMLINK", Serve: s.symlink, Cache: true},
			ProcMknod:       {Name: "MKNOD", Serve: s.mknod, Cache: true},
			ProcRemove:      {Name: "REMOVE", Serve: s.remove, Cache: true},
			ProcRmdir:       {Name: "RMDIR", Serve: s.rmdir, Cache: true},
			ProcRename:      {Name: "RENAME", Serve: s.rename, Cache: true},
			ProcLink:        {Name: "LINK", Serve: s.link, Cache: true},
			ProcReaddir:     {Name: "READDIR", Serve: s.readdir},
			ProcReaddirplus: {Name: "READDIRPLUS", Serve: s.readdirplus},
			ProcFsstat:      {Name: "FSSTAT", Serve: s.fsstat},
			ProcFsinfo:      {Name: "FSINFO", Serve: s.fsinfo},
			ProcPathconf:    {Name: "PATHCONF", Serve: s.pathconf},
			ProcCommit:      {Name: "COMMIT", Serve: s.commit},
		},
	}
}
