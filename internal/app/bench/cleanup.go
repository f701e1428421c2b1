package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fileserver/nfs/client"
	v3 "fileserver/nfs/v3"
	"fileserver/nfs/v4/proto"
	smbclient "fileserver/smb/client"
)

// errShort is a request that the server has done a part of.
var errShort = errors.New("short")

// refused reports whether the server has answered: the connection is there.
func refused(err error) bool {
	var smb *smbclient.StatusError
	var op *client.OpError
	var accept *client.AcceptError
	var st3 v3.Status
	var st4 proto.Status
	return errors.As(err, &smb) || errors.As(err, &op) || errors.As(err, &accept) || errors.As(err, &st3) || errors.As(err, &st4) ||
		errors.Is(err, errShort) || errors.Is(err, errLost)
}

// cleanup removes the files, unless they are to be kept, and ends the sessions. It returns the names of those that could not be removed.
func (r *run) cleanup() (left []string, err error) {
	for _, j := range r.jobs {
		ctx, cancel := context.WithTimeoutCause(context.Background(), graceTime, errors.New("the server does not answer any more"))
		opened := j.f != nil
		rerr := j.remove(ctx)
		cancel()
		if opened && rerr != nil {
			left = append(left, j.name)
			err = rerr
		}
	}
	if len(left) > 0 {
		err = fmt.Errorf("not removed: %s, which is for you to do: %w", strings.Join(left, ", "), err)
	}
	return left, err
}

// remove ends the job: over another connection if its own is lost.
func (j *job) remove(ctx context.Context) error {
	wanted := j.f != nil && !j.r.cfg.Keep && !j.foreign
	var err error
	dismiss(j.workers)
	if j.f != nil {
		_ = j.f.Close(ctx) // the session's end closes it, too
	}
	if wanted {
		err = j.s.Remove(ctx, j.name)
	}
	if j.s != nil {
		_ = j.s.Close() // nothing is outstanding
	}
	if !wanted || err == nil || refused(err) {
		return err
	}
	time.Sleep(100 * time.Millisecond) // a server that restarts, perhaps
	s, err := Dial(ctx, &j.r.cfg.Target)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Remove(ctx, j.name)
}
