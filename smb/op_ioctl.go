package smb

import (
	"context"

	"fileserver/smb/wire"
)

// fsctl is a row of the table of control codes.
type fsctl struct {
	// run handles the request. out is the response's output, at most q.MaxOutputResponse bytes unless the status says
	// otherwise. A failure with output needs r.keepBody.
	run func(ctx context.Context, r *request, q *wire.IoctlRequest) (out []byte, st wire.Status)
	// open: the FileId names an open, which the server finds before it calls run: r.open. Without open, the FileId
	// has to be all ones (MS-SMB2 3.3.5.15).
	open bool
}

// fsctls are the control codes that the server supports; others fail with STATUS_INVALID_DEVICE_REQUEST (MS-SMB2
// 3.3.5.15).
var fsctls = map[wire.FsctlCode]fsctl{
	wire.FsctlValidateNegotiateInfo:     {run: fsctlValidateNegotiate},
	wire.FsctlQueryNetworkInterfaceInfo: {run: fsctlInterfaces},
	wire.FsctlSetSparse:                 {run: fsctlSetSparse, open: true},
	wire.FsctlSetZeroData:               {run: fsctlSetZeroData, open: true},
	wire.FsctlQueryAllocatedRanges:      {run: fsctlQueryAllocatedRanges, open: true},
	wire.FsctlFileLevelTrim:             {run: fsctlTrim, open: true},
	wire.FsctlSrvRequestResumeKey:       {run: fsctlResumeKey, open: true},
	wire.FsctlSrvCopychunk:              {run: fsctlCopychunk, open: true},
	wire.FsctlSrvCopychunkWrite:         {run: fsctlCopychunk, open: true},
	wire.FsctlDuplicateExtentsToFile:    {run: fsctlDuplicate, open: true},
	wire.FsctlDuplicateExtentsToFileEx:  {run: fsctlDuplicate, open: true},
	wire.FsctlSetReparsePoint:           {run: fsctlSetReparsePoint, open: true},
	wire.FsctlGetReparsePoint:           {run: fsctlGetReparsePoint, open: true},
	wire.FsctlCreateOrGetObjectID:       {run: fsctlObjectID, open: true},
	wire.FsctlGetObjectID:               {run: fsctlObjectID, open: true},
	wire.FsctlGetCompression:            {run: fsctlGetCompression, open: true},
	wire.FsctlSetCompression:            {run: fsctlSetCompression, open: true},
	wire.FsctlSrvEnumerateSnapshots:     {run: fsctlSnapshots, open: true},
	wire.FsctlQueryFileRegions:          {run: fsctlFileRegions, open: true},
	wire.FsctlIsPathnameValid:           {run: fsctlPathname, open: true},
	wire.FsctlSrvReadHash:               {run: fsctlUnsupported, open: true},
	wire.FsctlLMRRequestResiliency:      {run: fsctlUnsupported, open: true},
	wire.FsctlPipeWait:                  {run: fsctlPipeWait},
	wire.FsctlDFSGetReferrals:           {run: fsctlNoDFS},
	wire.FsctlDFSGetReferralsEx:         {run: fsctlNoDFS},
}

// ioctlRequest is an IOCTL (MS-SMB2 3.3.5.15).
type ioctlRequest struct{ wire.IoctlRequest }

func parseIoctl(r *request) (operation, error) {
	w, err := wire.ParseIoctlRequest(r.msg)
	q := &ioctlRequest{w}
	limit := r.conn.neg.Load().maxTransact
	switch {
	case err != nil:
		return nil, err
	case q.Flags != wire.IoctlIsFsctl:
		return q, wire.StatusNotSupported
	case uint64(len(q.Input)) > uint64(limit), q.MaxInputResponse > limit, q.MaxOutputResponse > limit:
		return q, wire.StatusInvalidParameter
	}
	return q, nil
}

func (q *ioctlRequest) needs() needs {
	in := uint64(len(q.Input)) + uint64(q.OutputCount)
	out := uint64(q.MaxInputResponse) + uint64(q.MaxOutputResponse)
	return needs{onOpen: fsctls[q.Code].open, file: q.FileID, bytes: max(in, out)}
}

func (q *ioctlRequest) run(ctx context.Context, r *request) wire.Status {
	row, ok := fsctls[q.Code]
	switch {
	case !ok:
		return wire.StatusInvalidDeviceRequest
	case row.open:
		q.FileID = r.open.id
	case q.FileID != wire.AnyFile:
		return wire.StatusInvalidParameter
	}
	output, st := row.run(ctx, r, &q.IoctlRequest)
	if st == statusParked {
		return st
	}
	return r.replyIoctl(q.Code, q.FileID, output, st)
}

// replyIoctl builds an IOCTL's response, also for requests that have waited.
func (r *request) replyIoctl(code wire.FsctlCode, id wire.FileID, output []byte, st wire.Status) wire.Status {
	resp := wire.IoctlResponse{Code: code, FileID: id, Output: output}
	if err := r.room(wire.IoctlResponseLen + len(output) + 8); err != nil {
		return statusDrop
	}
	r.reply(&resp)
	return st
}
