// Package deps pins the modules that are settled on until the packages that use them exist.
package deps

import (
	_ "github.com/Mellanox/rdmamap" // rdma.Discover, with the provider for real devices
)
