// Package deps pins the modules the issues name until the packages that use them exist.
package deps

import (
	_ "github.com/Mellanox/rdmamap"
	_ "github.com/buildbarn/go-xdr/pkg/protocols/mount"
	_ "github.com/buildbarn/go-xdr/pkg/protocols/nfsv3"
	_ "github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"
	_ "github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/hanwen/go-fuse/v2/fs"
	_ "github.com/hanwen/go-fuse/v2/posixtest"
	_ "github.com/hirochachacha/go-smb2"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/client_golang/prometheus/testutil"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "github.com/spf13/viper"
	_ "go.etcd.io/bbolt"
	_ "go.uber.org/goleak"
	_ "golang.org/x/crypto/md4"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "pgregory.net/rapid"
)
