package server

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"fileserver/config"
	"fileserver/nfs"
	"fileserver/nfs/rpc"
	"fileserver/vfs"
)

// share is a share with its file system open.
type share struct {
	config.Share
	fs vfs.FS
}

// shareSet is the set of shares in force, by name. A set is replaced, never changed.
type shareSet map[string]*share

// open returns the set for another list of shares. It uses a file system of this set again if name and path are the same and
// the path still leads to the same directory. If it fails, it closes what it has opened.
func (set shareSet) open(shares []config.Share, openFS func(*config.Share) (vfs.FS, error)) (shareSet, error) {
	next := shareSet{}
	ids := map[uint32]string{}
	for i := range shares {
		c := shares[i]
		if other, taken := ids[exportID(c.Name)]; taken {
			err := fmt.Errorf("shares %s and %s cannot be served together: their file handles would be alike; rename one", other, c.Name)
			return nil, errors.Join(err, next.close(set))
		}
		ids[exportID(c.Name)] = c.Name
		if have := set[c.Name]; have != nil && have.Path == c.Path && current(have.fs) {
			next[c.Name] = &share{c, have.fs}
			continue
		}
		fs, err := openFS(&c)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("share %s: %w", c.Name, err), next.close(set))
		}
		next[c.Name] = &share{c, fs}
	}
	return next, nil
}

// current reports whether the path of a file system still leads to it. It does not after a disk was mounted there.
func current(fs vfs.FS) bool {
	c, ok := fs.(interface{ Current() bool })
	return !ok || c.Current()
}

// close closes the file systems that other does not use.
func (set shareSet) close(other shareSet) error {
	var errs []error
	for name, s := range set {
		if o := other[name]; o == nil || o.fs != s.fs {
			errs = append(errs, s.fs.Close())
		}
	}
	return errors.Join(errs...)
}

func (set shareSet) names() []string { return slices.Sorted(maps.Keys(set)) }

// exportID returns the number of a share in its file handles, which is the same after a restart.
func exportID(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()
}

// exports returns the shares as exports of NFS. privileged is the configuration's nfs.privileged_ports.
func (set shareSet) exports(privileged bool) []*nfs.Export {
	var list []*nfs.Export
	for name, s := range set {
		e := &nfs.Export{
			ID: exportID(name), Path: "/" + name, FS: s.fs, ReadOnly: s.ReadOnly, Clients: s.Allow,
			AnonUID: s.NFS.AnonUID, AnonGID: s.NFS.AnonGID, PrivilegedPorts: privileged && s.NFS.Squash != config.SquashAll,
		}
		switch s.NFS.Squash {
		case config.SquashNone:
			e.Squash = nfs.SquashNone
		case config.SquashRoot:
			e.Squash = nfs.SquashRoot
		case config.SquashAll:
			e.Squash = nfs.SquashAll
		}
		for _, sec := range s.NFS.Security {
			switch sec {
			case config.SecuritySys:
				e.Flavors = append(e.Flavors, rpc.AuthSys)
			case config.SecurityNone:
				e.Flavors = append(e.Flavors, rpc.AuthNone)
			}
		}
		list = append(list, e)
	}
	return list
}
