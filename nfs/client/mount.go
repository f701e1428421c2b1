package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"fileserver/nfs/mount"
	"fileserver/nfs/rpc"
	v3 "fileserver/nfs/v3"
	"fileserver/nfs/xdr"
)

// The port mapper, version 2 (RFC 1833 section 3).
const (
	progPortmap, versPortmap = 100000, 2
	procGetport              = 3
	portmapPort              = "111"
	protoTCP                 = 6
)

// rootV3 asks the MOUNT program for the root of an export (RFC 1813 appendix I). Without o.MountAddr it tries the
// connection itself, because our server answers MOUNT there, and then the port that the port mapper names.
func rootV3(ctx context.Context, c Caller, o Options) (v3.Handle, error) {
	if o.MountAddr == "" {
		h, err := mnt(ctx, c, o.Path)
		var refused *AcceptError
		if !errors.As(err, &refused) || refused.Stat != rpc.ProgUnavail {
			return h, err
		}
		port, err := getport(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("the server's NFS port does not answer MOUNT, and rpcbind does not name its port: %w", err)
		}
		o.MountAddr = net.JoinHostPort(o.Host, strconv.Itoa(int(port)))
	}
	m, err := DialTCP(ctx, o.MountAddr, o.Cred)
	if err != nil {
		return nil, fmt.Errorf("the MOUNT program: %w", err)
	}
	defer m.Close()
	return mnt(ctx, m, o.Path)
}

func mnt(ctx context.Context, c Caller, path string) (v3.Handle, error) {
	args := mount.PathArgs{Path: path}
	var res mount.MntRes
	call := Call{Prog: mount.Program, Vers: mount.Version, Proc: mount.ProcMnt, Args: args.Append(nil)}
	if err := simple(ctx, c, &call, &res); err != nil {
		return nil, fmt.Errorf("MNT %s: %w", path, err)
	}
	if res.Status != mount.OK {
		return nil, fmt.Errorf("MNT %s: %v", path, res.Status)
	}
	return res.Handle, nil
}

type port uint32

// Decode consumes the result of GETPORT.
func (p *port) Decode(d *xdr.Decoder) { *p = port(d.Uint32()) }

func getport(ctx context.Context, o Options) (p port, err error) {
	c, err := DialTCP(ctx, net.JoinHostPort(o.Host, portmapPort), o.Cred)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	var args []byte
	for _, v := range [...]uint32{mount.Program, mount.Version, protoTCP, 0} {
		args = xdr.AppendUint32(args, v)
	}
	err = simple(ctx, c, &Call{Prog: progPortmap, Vers: versPortmap, Proc: procGetport, Args: args}, &p)
	if err == nil && p == 0 {
		err = errors.New("no MOUNT program version 3 over TCP is registered")
	}
	return p, err
}
