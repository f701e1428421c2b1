package smb

import (
	"fmt"
	"sync"
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// Many who change a directory, and who watch it, ask, cancel and ask again: each is told of every change once.
func TestChangeNotifyConcurrently(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("d", "x")
	const makers, each = 3, 40
	var wg sync.WaitGroup
	for n := range 2 {
		c := e.files(wire.Dialect311)
		d := c.openDir("d")
		c.cancel(c.parks(watch(d, allNames, n == 1, 1<<16)))
		wg.Go(func() {
			seen := map[string]int{}
			for asked := 0; len(seen) < 2*makers*each; asked++ {
				c.Send(c.Message(watch(d, 0, false, 1<<16)))
				r := c.Recv()[0]
				if r.Status == wire.StatusPending {
					if asked%3 == 0 { // it may be too late
						c.Send(c.Message(smbtest.Request{Command: wire.CmdCancel, Body: smbtest.Empty, Edit: func(h *wire.Header) {
							h.Flags |= wire.FlagAsyncCommand
							h.AsyncID, h.MessageID = r.AsyncID, 0
						}}))
					}
					r = c.Recv()[0]
				}
				if r.Status == wire.StatusCancelled {
					continue
				}
				out, err := wire.ParseOutputResponse(r.Msg)
				if r.Status != wire.StatusSuccess || err != nil {
					t.Errorf("%v, %v", r.Status, err)
					return
				}
				list, err := wire.ParseNotifies(out.Output)
				if err != nil {
					t.Error(err)
					return
				}
				for _, n := range list {
					seen[fmt.Sprint(n.Action, n.Name)]++
				}
			}
			for what, n := range seen {
				if n != 1 {
					t.Errorf("told %d times of %s", n, what)
				}
			}
			c.W.Close() // with the directory open
		})
	}
	for m := range makers {
		o := e.files(wire.Dialect311)
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf(`d\%d-%d`, m, i)
				o.mkdir(name)
				o.remove(name)
			}
			o.W.Close()
		})
	}
	wg.Wait()
}
