// Package deps pins the modules the issues name until the packages that use them exist.
package deps

import (
	_ "github.com/Mellanox/rdmamap"
	_ "github.com/hirochachacha/go-smb2"
	//lint:ignore SA1019 NTLM is made of it
	_ "golang.org/x/crypto/md4"
	_ "golang.org/x/sync/errgroup"
)
