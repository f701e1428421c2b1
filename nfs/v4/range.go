package v4

import (
	"math"

	"fileserver/nfs/v4/proto"
)

// signed converts an offset and length to those of package vfs.
func signed(off, n uint64) (int64, int64, proto.Status) {
	if off > math.MaxInt64 || n > math.MaxInt64-off {
		return 0, 0, proto.ErrInval
	}
	return int64(off), int64(n), proto.OK
}
