// Package deps pins the modules the issues name until the packages that use them exist.
package deps

import (
	_ "github.com/Mellanox/rdmamap"
	_ "github.com/hirochachacha/go-smb2"
	_ "golang.org/x/sync/errgroup"
)
