// Package deps pins the modules the issues name until the packages that use them exist.
package deps

import (
	_ "github.com/Mellanox/rdmamap"
	_ "github.com/buildbarn/go-xdr/pkg/protocols/mount"
	_ "github.com/buildbarn/go-xdr/pkg/protocols/nfsv3"
	_ "github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"
	_ "github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"
	_ "github.com/hanwen/go-fuse/v2/fs"
	_ "github.com/hanwen/go-fuse/v2/posixtest"
	_ "github.com/hirochachacha/go-smb2"
	//lint:ignore SA1019 NTLM is made of it
	_ "golang.org/x/crypto/md4"
	_ "golang.org/x/sync/errgroup"
	_ "pgregory.net/rapid"
)
