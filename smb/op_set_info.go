package smb

import (
	"context"

	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

// setRow is a row of the table of information classes that can be set.
type setRow struct {
	access wire.AccessMask // all of these rights are needed (MS-FSA 2.1.5.15)
	// recall: no other client may cache the file's data when the row runs.
	recall bool
	run    func(ctx context.Context, r *request, o *Open, q *wire.SetInfoRequest) wire.Status
}

// fileSets are the information classes of files that can be set (MS-SMB2 3.3.5.21.1).
var fileSets = map[wire.InfoClass]setRow{
	wire.FileBasicInformation:           {wire.FileWriteAttributes, false, setBasic},
	wire.FileRenameInformation:          {wire.Delete, false, setRename},
	wire.FileRenameInformationEx:        {wire.Delete, false, setRename},
	wire.FileLinkInformation:            {0, false, setLink},
	wire.FileLinkInformationEx:          {0, false, setLink},
	wire.FileDispositionInformation:     {wire.Delete, false, setDisposition},
	wire.FileDispositionInformationEx:   {wire.Delete, false, setDispositionEx},
	wire.FilePositionInformation:        {0, false, setPosition},
	wire.FileFullEaInformation:          {wire.FileWriteEA, false, setEAs},
	wire.FileModeInformation:            {0, false, setMode},
	wire.FileAllocationInformation:      {wire.FileWriteData, true, setAllocation},
	wire.FileEndOfFileInformation:       {wire.FileWriteData, true, setEndOfFile},
	wire.FileValidDataLengthInformation: {wire.FileWriteData, true, setValidDataLength},
}

// setInfoRequest is a SET_INFO (MS-SMB2 3.3.5.21).
type setInfoRequest struct {
	wire.SetInfoRequest
	recall *lock.Recall // the recall that the request has to wait for
}

func parseSetInfo(r *request) (operation, error) {
	q, err := wire.ParseSetInfoRequest(r.msg)
	if err == nil && len(q.Input) > int(r.conn.neg.Load().maxTransact) {
		err = wire.StatusInvalidParameter
	}
	return &setInfoRequest{SetInfoRequest: q}, err
}

func (q *setInfoRequest) needs() needs {
	return needs{onOpen: true, file: q.FileID, bytes: uint64(len(q.Input))}
}

func (q *setInfoRequest) run(ctx context.Context, r *request) wire.Status {
	o := r.open
	switch q.Type {
	case wire.InfoFile:
		row, ok := fileSets[q.Class]
		switch {
		case !ok:
			return wire.StatusInvalidInfoClass
		case o.granted&row.access != row.access:
			return wire.StatusAccessDenied
		}
		if row.recall {
			if rc := o.recall(lock.Caching(0)); rc != nil {
				return r.await(rc)
			}
		}
		return r.setInfo(row.run(ctx, r, o, &q.SetInfoRequest))
	case wire.InfoSecurity:
		return r.setInfo(r.setSecurity(ctx, o, &q.SetInfoRequest))
	case wire.InfoFilesystem:
		return setFilesystem(&q.SetInfoRequest)
	case wire.InfoQuota:
		return wire.StatusNotSupported
	}
	return wire.StatusInvalidParameter
}

// setInfo builds the response.
func (r *request) setInfo(st wire.Status) wire.Status {
	if st == wire.StatusSuccess {
		r.out = wire.AppendSetInfoResponse(r.out)
	}
	return st
}

// setFilesystem refuses to change a file system, which no client of a share may (MS-SMB2 3.3.5.21.2).
func setFilesystem(q *wire.SetInfoRequest) wire.Status {
	switch q.Class {
	case wire.FileFsControlInformation, wire.FileFsObjectIDInformation, wire.FileFsLabelInformation:
		return wire.StatusAccessDenied
	}
	return wire.StatusInvalidInfoClass
}
