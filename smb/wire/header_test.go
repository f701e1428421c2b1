package wire

import (
	"errors"
	"testing"
)

var headers = []Header{
	{CreditCharge: 3, Status: StatusPending, Command: CmdRead, Credits: 7, Flags: FlagServerToRedir | FlagAsyncCommand, MessageID: 1 << 40, AsyncID: 1 << 50, SessionID: 2, Signature: testGUID},
	{Command: CmdCreate, Flags: FlagRelated, Next: 128, MessageID: 5, TreeID: 9, SessionID: 1 << 60},
}

func TestHeader(t *testing.T) {
	checkData(t, ParseHeader, (*Header).Append, headers...)
	b := headers[0].Append(nil)
	headers[1].Put(b)
	if h, err := ParseHeader(b); err != nil || h != headers[1] {
		t.Error(h, err)
	}
	for _, i := range []int{0, 4} {
		bad := headers[0].Append(nil)
		bad[i]++
		if _, err := ParseHeader(bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	if s := CmdOplockBreak.String() + Command(19).String(); s != "OPLOCK_BREAKCOMMAND_0x0013" {
		t.Error(s)
	}
}

func FuzzHeader(f *testing.F) { fuzzData(f, ParseHeader, (*Header).Append, headers...) }

func TestSpan(t *testing.T) {
	msg := make([]byte, 100)
	for _, c := range []struct {
		off, n uint64
		ok     bool
	}{{64, 36, true}, {100, 0, true}, {1 << 60, 0, true}, {63, 1, false}, {64, 37, false}, {^uint64(0), 2, false}, {64, ^uint64(0), false}, {1 << 32, 1, false}} {
		if b, err := span(msg, c.off, c.n); (err == nil) != c.ok || err == nil && uint64(len(b)) != c.n {
			t.Errorf("span(%d, %d): %d bytes, %v", c.off, c.n, len(b), err)
		}
	}
}
