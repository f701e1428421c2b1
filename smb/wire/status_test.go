package wire

import (
	"errors"
	"fmt"
	"testing"
)

func TestStatus(t *testing.T) {
	for s, want := range map[Status]string{
		StatusAccessDenied: "STATUS_ACCESS_DENIED", StatusSuccess: "STATUS_SUCCESS", StatusIOReparseTagNotHandled: "STATUS_IO_REPARSE_TAG_NOT_HANDLED",
		0xdeadbeef: "NTSTATUS 0xdeadbeef",
	} {
		if fmt.Sprint(s) != want || s.Error() != want {
			t.Errorf("%s, not %s", s, want)
		}
	}
	for s, want := range map[Status]bool{StatusSuccess: false, StatusPending: false, StatusBufferOverflow: true, StatusAccessDenied: true} {
		if s.Failed() != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
	var s Status
	if err := fmt.Errorf("open: %w", StatusSharingViolation); !errors.As(err, &s) || s != StatusSharingViolation {
		t.Error(s)
	}
	names := map[string]Status{}
	for s, name := range statusNames {
		if other, ok := names[name]; ok {
			t.Errorf("%#x and %#x are both %s", uint32(s), uint32(other), name)
		}
		names[name] = s
	}
}
