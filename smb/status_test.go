package smb

import (
	"errors"
	"fmt"
	"testing"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

func TestStatusOf(t *testing.T) {
	if st := statusOf(nil); st != wire.StatusSuccess {
		t.Errorf("no error is %v", st)
	}
	for s := vfs.ErrPerm; s <= vfs.ErrServerFault; s++ {
		if st := statusOf(s); !st.Failed() {
			t.Errorf("%v is %v, which does not say that it failed", s, st)
		}
	}
	if st := statusOf(fmt.Errorf("opening: %w", vfs.ErrNotEmpty)); st != wire.StatusDirectoryNotEmpty {
		t.Errorf("a wrapped error is %v", st)
	}
	if st := statusOf(errors.New("other")); st != wire.StatusUnexpectedIOError {
		t.Errorf("a foreign error is %v", st)
	}
}
