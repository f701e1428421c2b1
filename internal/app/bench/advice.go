package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	v3 "fileserver/nfs/v3"
	"fileserver/nfs/v4/proto"
	"fileserver/rdma"
	smbclient "fileserver/smb/client"
	"fileserver/smb/wire"
)

// status reports whether the server has refused something with one of these.
func status(err error, smb []wire.Status, three []v3.Status, four []proto.Status) bool {
	var s *smbclient.StatusError
	var st3 v3.Status
	var st4 proto.Status
	return errors.As(err, &s) && slices.Contains(smb, s.Status) || errors.As(err, &st3) && slices.Contains(three, st3) ||
		errors.As(err, &st4) && slices.Contains(four, st4)
}

// full reports whether there is no room on the server.
func full(err error) bool {
	return status(err, []wire.Status{wire.StatusDiskFull, wire.StatusQuotaExceeded}, []v3.Status{v3.ErrNoSpc, v3.ErrDQuot}, []proto.Status{proto.ErrNoSpc, proto.ErrDQuot})
}

// dialling says what to do about an error of connecting and mounting.
func (r *run) dialling(err error) error {
	var no unix.Errno
	var name *net.DNSError
	var rejected *rdma.RejectedError
	switch {
	case errors.As(err, &name):
		return fmt.Errorf("%w; give an address, or look at /etc/hosts and the name server", err)
	case r.cfg.Proto == "nfs" && (refused(err) || strings.Contains(err.Error(), "MNT3ERR_")):
		return fmt.Errorf("%w; see --share %s, and whether the server admits this machine", err, r.cfg.Share)
	case !refused(err) && (errors.As(err, &no) || errors.As(err, &rejected) || errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded)):
		return fmt.Errorf("%w; fileserver doctor --connect %s says more", err, r.cfg.Host)
	}
	return err
}

// opening says what to do about an error of opening a file.
func (r *run) opening(err error) error {
	who := fmt.Sprintf("--user %s", r.cfg.SMB.User)
	if r.cfg.Proto == "nfs" {
		who = fmt.Sprintf("--uid %d", r.cfg.UID)
	}
	switch {
	case status(err, []wire.Status{wire.StatusAccessDenied, wire.StatusMediaWriteProtected}, []v3.Status{v3.ErrAcces, v3.ErrPerm, v3.ErrROFS},
		[]proto.Status{proto.ErrAccess, proto.ErrPerm, proto.ErrROFS}):
		return fmt.Errorf("%w: %s may not write there, or the share is read-only; every --op has files of its own: see --share %s and --name %s", err, who, r.cfg.Share, r.cfg.Name)
	case status(err, []wire.Status{wire.StatusObjectPathNotFound}, []v3.Status{v3.ErrNoEnt}, []proto.Status{proto.ErrNoEnt}):
		return fmt.Errorf("%w: the directory of --name %s is not there; make it first", err, r.cfg.Name)
	}
	return err
}
