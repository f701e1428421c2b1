package smb

import (
	"strings"

	"fileserver/smb/namespace"
	"fileserver/smb/secdesc"
	"fileserver/smb/wire"
)

// fileQueries are the information classes of files that a client can query (MS-FSCC 2.4, MS-FSA 2.1.5.12).
var fileQueries = map[wire.InfoClass]infoRow{
	wire.FileBasicInformation:          {wire.FileReadAttributes, with(queryBasic)},
	wire.FileStandardInformation:       {0, with(queryStandard)},
	wire.FileInternalInformation:       {0, with(queryInternal)},
	wire.FileEaInformation:             {0, queryEASize},
	wire.FileAccessInformation:         {0, queryAccess},
	wire.FileNameInformation:           {0, queryName},
	wire.FilePositionInformation:       {0, queryPosition},
	wire.FileFullEaInformation:         {wire.FileReadEA, queryEAs},
	wire.FileModeInformation:           {0, queryMode},
	wire.FileAlignmentInformation:      {0, queryAlignment},
	wire.FileAllInformation:            {wire.FileReadAttributes, with(queryAll)},
	wire.FileAlternateNameInformation:  {0, queryAlternateName},
	wire.FileStreamInformation:         {0, queryStreams},
	wire.FileCompressionInformation:    {0, with(queryCompression)},
	wire.FileNetworkOpenInformation:    {wire.FileReadAttributes, with(queryNetworkOpen)},
	wire.FileAttributeTagInformation:   {wire.FileReadAttributes, with(queryAttributeTag)},
	wire.FileNormalizedNameInformation: {0, queryNormalizedName},
	wire.FileStandardLinkInformation:   {wire.FileReadAttributes, with(queryStandardLink)},
	wire.FileIDInformation:             {wire.FileReadAttributes, with(queryFileID)},
	wire.FilePosixInformation:          {wire.FileReadAttributes, queryPosix},
}

// modeOptions are the options of a CREATE that FileModeInformation shows (MS-FSCC 2.4.31).
const modeOptions = wire.FileWriteThrough | wire.FileSequentialOnly | wire.FileNoIntermediateBuffering |
	wire.FileSynchronousIOAlert | wire.FileSynchronousIONonalert | wire.FileDeleteOnClose

func (i *info) basic() wire.BasicInfo { return wire.BasicInfo{Times: i.times, FileAttributes: i.dos} }

func (i *info) standard(o *Open) wire.StandardInfo {
	s := wire.StandardInfo{
		AllocationSize: i.allocated(), EndOfFile: i.size(), Links: i.links(), DeletePending: o.deletePending(), Directory: i.directory(),
	}
	if s.DeletePending && s.Links > 0 {
		s.Links--
	}
	return s
}

func queryBasic(iq *infoQuery, i *info) []byte {
	b := i.basic()
	return b.Append(iq.out)
}

func queryStandard(iq *infoQuery, i *info) []byte {
	s := i.standard(iq.o)
	return s.Append(iq.out)
}

func queryInternal(iq *infoQuery, i *info) []byte { return wire.AppendInfo64(iq.out, i.attr.FileID) }

func queryEASize(iq *infoQuery) wire.Status {
	iq.out = wire.AppendInfo32(iq.out, eaSize(iq.ctx, iq.o.object()))
	return wire.StatusSuccess
}

func queryAccess(iq *infoQuery) wire.Status {
	iq.out = wire.AppendInfo32(iq.out, uint32(iq.o.granted))
	return wire.StatusSuccess
}

// shownPath returns a path as clients see it, without a leading separator.
func shownPath(path string) string {
	elems := pathElems(path)
	for i := range elems {
		elems[i] = namespace.Visible(elems[i])
	}
	return strings.Join(elems, `\`)
}

func queryName(iq *infoQuery) wire.Status {
	iq.out = wire.AppendNameInfo(iq.out, `\`+iq.o.shownName())
	return wire.StatusSuccess
}

// queryNormalizedName serves 3.1.1 only (MS-SMB2 3.3.5.20.1).
func queryNormalizedName(iq *infoQuery) wire.Status {
	if iq.r.conn.dialect() < wire.Dialect311 {
		return wire.StatusNotSupported
	}
	iq.out = wire.AppendNameInfo(iq.out, iq.o.shownName())
	return wire.StatusSuccess
}

// queryAlternateName returns the file's name of 8.3 characters. None is generated where names are case sensitive.
func queryAlternateName(iq *infoQuery) wire.Status {
	path := shownPath(iq.o.path())
	name := path[strings.LastIndexByte(path, '\\')+1:]
	short, madeUp := namespace.ShortName(name)
	if name == "" || (madeUp || short != name) && iq.o.share.CaseSensitive {
		return wire.StatusObjectNameNotFound
	}
	iq.out = wire.AppendNameInfo(iq.out, short)
	return wire.StatusSuccess
}

func queryPosition(iq *infoQuery) wire.Status {
	iq.out = wire.AppendInfo64(iq.out, iq.o.position.Load())
	return wire.StatusSuccess
}

func queryMode(iq *infoQuery) wire.Status {
	iq.out = wire.AppendInfo32(iq.out, uint32(iq.o.options&modeOptions))
	return wire.StatusSuccess
}

func queryAlignment(iq *infoQuery) wire.Status {
	iq.out = wire.AppendInfo32(iq.out, 0) // FILE_BYTE_ALIGNMENT: any alignment will do
	return wire.StatusSuccess
}

func queryAll(iq *infoQuery, i *info) []byte {
	o := iq.o
	all := wire.AllInfo{
		Basic: i.basic(), Standard: i.standard(o), IndexNumber: i.attr.FileID, EASize: eaSize(iq.ctx, o.object()), Access: o.granted,
		Position: o.position.Load(), Mode: o.options & modeOptions, Name: `\` + o.shownName(),
	}
	return all.Append(iq.out)
}

// queryCompression says that the file is not compressed.
func queryCompression(iq *infoQuery, i *info) []byte {
	c := wire.CompressionInfo{CompressedSize: i.size(), Format: wire.CompressionFormatNone}
	return c.Append(iq.out)
}

func queryNetworkOpen(iq *infoQuery, i *info) []byte {
	n := wire.NetworkOpenInfo{Times: i.times, AllocationSize: i.allocated(), EndOfFile: i.size(), FileAttributes: i.dos}
	return n.Append(iq.out)
}

func queryAttributeTag(iq *infoQuery, i *info) []byte {
	t := wire.AttributeTagInfo{FileAttributes: i.dos, ReparseTag: i.tag()}
	return t.Append(iq.out)
}

func queryStandardLink(iq *infoQuery, i *info) []byte {
	s := i.standard(iq.o)
	l := wire.StandardLinkInfo{AccessibleLinks: s.Links, TotalLinks: i.links(), DeletePending: s.DeletePending, Directory: s.Directory}
	return l.Append(iq.out)
}

func queryFileID(iq *infoQuery, i *info) []byte {
	f := wire.FileIDInfo{VolumeSerial: iq.o.share.volume()}
	le.PutUint64(f.FileID[:], i.attr.FileID)
	return f.Append(iq.out)
}

// queryPosix returns what stat(2) does, for clients with the POSIX extensions (SMB 3.1.1 POSIX Extensions 2.2.39.1).
func queryPosix(iq *infoQuery) wire.Status {
	if !iq.r.conn.neg.Load().posix {
		return wire.StatusInvalidInfoClass
	}
	i, err := iq.o.info(iq.ctx)
	if err != nil {
		return statusOf(err)
	}
	return iq.say(&wire.PosixInfo{
		Times: i.times, EndOfFile: i.size(), AllocationSize: i.allocated(), FileAttributes: i.dos, Inode: i.attr.FileID,
		Device: uint32(iq.o.share.volume()), Links: i.attr.Nlink, ReparseTag: i.tag(), Mode: posixMode(&i.attr),
		Owner: secdesc.UnixUser(i.attr.UID).Append(nil), Group: secdesc.UnixGroup(i.attr.GID).Append(nil),
	})
}
