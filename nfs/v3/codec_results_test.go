package v3_test

import (
	gx "github.com/buildbarn/go-xdr/pkg/protocols/nfsv3"

	v3 "fileserver/nfs/v3"
	"fileserver/nfs/xdr/xdrtest"
)

var resCases = []xdrtest.Case{
	xdrtest.New("GETATTR", &v3.GetattrRes{Attr: attr}, &gx.Getattr3res_NFS3_OK{Resok: gx.Getattr3resok{ObjAttributes: gxAttr}}, xdrtest.Union(gx.ReadGetattr3res)),
	xdrtest.New("GETATTR, failed", &v3.GetattrRes{Status: v3.ErrStale}, &gx.Getattr3res_default{Status: gx.NFS3ERR_STALE}, xdrtest.Union(gx.ReadGetattr3res)),
	xdrtest.New("SETATTR", &v3.WccRes{Wcc: wcc}, &gx.Setattr3res_NFS3_OK{Resok: gx.Setattr3resok{ObjWcc: gxWcc}}, xdrtest.Union(gx.ReadSetattr3res)),
	xdrtest.New(
		"SETATTR, failed", &v3.WccRes{Status: v3.ErrNotSync, Wcc: noWcc},
		&gx.Setattr3res_default{Status: gx.NFS3ERR_NOT_SYNC, Resfail: gx.Setattr3resfail{ObjWcc: gxNoWcc}}, xdrtest.Union(gx.ReadSetattr3res),
	),
	xdrtest.New(
		"LOOKUP", &v3.LookupRes{Object: fh, Attr: none, Dir: post},
		&gx.Lookup3res_NFS3_OK{Resok: gx.Lookup3resok{Object: gxFH, ObjAttributes: gxNone, DirAttributes: gxPost}}, xdrtest.Union(gx.ReadLookup3res),
	),
	xdrtest.New(
		"LOOKUP, failed", &v3.LookupRes{Status: v3.ErrNoEnt, Dir: post},
		&gx.Lookup3res_default{Status: gx.NFS3ERR_NOENT, Resfail: gx.Lookup3resfail{DirAttributes: gxPost}}, xdrtest.Union(gx.ReadLookup3res),
	),
	xdrtest.New("ACCESS", &v3.AccessRes{Attr: post, Access: 5}, &gx.Access3res_NFS3_OK{Resok: gx.Access3resok{ObjAttributes: gxPost, Access: 5}}, xdrtest.Union(gx.ReadAccess3res)),
	xdrtest.New(
		"ACCESS, failed", &v3.AccessRes{Status: v3.ErrIO, Attr: none},
		&gx.Access3res_default{Status: gx.NFS3ERR_IO, Resfail: gx.Access3resfail{ObjAttributes: gxNone}}, xdrtest.Union(gx.ReadAccess3res),
	),
	xdrtest.New(
		"READLINK", &v3.ReadlinkRes{Attr: post, Path: "a/b"},
		&gx.Readlink3res_NFS3_OK{Resok: gx.Readlink3resok{SymlinkAttributes: gxPost, Data: "a/b"}}, xdrtest.Union(gx.ReadReadlink3res),
	),
	xdrtest.New(
		"READLINK, failed", &v3.ReadlinkRes{Status: v3.ErrInval, Attr: post},
		&gx.Readlink3res_default{Status: gx.NFS3ERR_INVAL, Resfail: gx.Readlink3resfail{SymlinkAttributes: gxPost}}, xdrtest.Union(gx.ReadReadlink3res),
	),
	xdrtest.New(
		"READ", &v3.ReadRes{Attr: post, Count: 3, EOF: true, Data: []byte("xyz")},
		&gx.Read3res_NFS3_OK{Resok: gx.Read3resok{FileAttributes: gxPost, Count: 3, Eof: true, Data: []byte("xyz")}}, xdrtest.Union(gx.ReadRead3res),
	),
	xdrtest.New(
		"READ, failed", &v3.ReadRes{Status: v3.ErrIsDir, Attr: post},
		&gx.Read3res_default{Status: gx.NFS3ERR_ISDIR, Resfail: gx.Read3resfail{FileAttributes: gxPost}}, xdrtest.Union(gx.ReadRead3res),
	),
	xdrtest.New(
		"WRITE", &v3.WriteRes{Wcc: wcc, Count: 9, Committed: v3.FileSync, Verf: verf},
		&gx.Write3res_NFS3_OK{Resok: gx.Write3resok{FileWcc: gxWcc, Count: 9, Committed: gx.FILE_SYNC, Verf: verf}}, xdrtest.Union(gx.ReadWrite3res),
	),
	xdrtest.New(
		"WRITE, failed", &v3.WriteRes{Status: v3.ErrNoSpc, Wcc: wcc},
		&gx.Write3res_default{Status: gx.NFS3ERR_NOSPC, Resfail: gx.Write3resfail{FileWcc: gxWcc}}, xdrtest.Union(gx.ReadWrite3res),
	),
	xdrtest.New(
		"CREATE", &v3.CreateRes{Object: fh, Attr: post, Dir: wcc},
		&gx.Create3res_NFS3_OK{Resok: gx.Create3resok{Obj: &gx.PostOpFh3_TRUE{Handle: gxFH}, ObjAttributes: gxPost, DirWcc: gxWcc}}, xdrtest.Union(gx.ReadCreate3res),
	),
	xdrtest.New(
		"CREATE, no handle", &v3.CreateRes{Attr: none, Dir: noWcc},
		&gx.Create3res_NFS3_OK{Resok: gx.Create3resok{Obj: &gx.PostOpFh3_FALSE{}, ObjAttributes: gxNone, DirWcc: gxNoWcc}}, xdrtest.Union(gx.ReadCreate3res),
	),
	xdrtest.New(
		"MKDIR, failed", &v3.CreateRes{Status: v3.ErrExist, Dir: wcc},
		&gx.Mkdir3res_default{Status: gx.NFS3ERR_EXIST, Resfail: gx.Mkdir3resfail{DirWcc: gxWcc}}, xdrtest.Union(gx.ReadMkdir3res),
	),
	xdrtest.New(
		"SYMLINK", &v3.CreateRes{Object: fh, Attr: post, Dir: wcc},
		&gx.Symlink3res_NFS3_OK{Resok: gx.Symlink3resok{Obj: &gx.PostOpFh3_TRUE{Handle: gxFH}, ObjAttributes: gxPost, DirWcc: gxWcc}}, xdrtest.Union(gx.ReadSymlink3res),
	),
	xdrtest.New(
		"MKNOD, failed", &v3.CreateRes{Status: v3.ErrBadType, Dir: noWcc},
		&gx.Mknod3res_default{Status: gx.NFS3ERR_BADTYPE, Resfail: gx.Mknod3resfail{DirWcc: gxNoWcc}}, xdrtest.Union(gx.ReadMknod3res),
	),
	xdrtest.New("REMOVE", &v3.WccRes{Wcc: wcc}, &gx.Remove3res_NFS3_OK{Resok: gx.Remove3resok{DirWcc: gxWcc}}, xdrtest.Union(gx.ReadRemove3res)),
	xdrtest.New(
		"RMDIR, failed", &v3.WccRes{Status: v3.ErrNotEmpty, Wcc: wcc},
		&gx.Rmdir3res_default{Status: gx.NFS3ERR_NOTEMPTY, Resfail: gx.Rmdir3resfail{DirWcc: gxWcc}}, xdrtest.Union(gx.ReadRmdir3res),
	),
	xdrtest.New(
		"RENAME", &v3.RenameRes{From: wcc, To: noWcc},
		&gx.Rename3res_NFS3_OK{Resok: gx.Rename3resok{FromdirWcc: gxWcc, TodirWcc: gxNoWcc}}, xdrtest.Union(gx.ReadRename3res),
	),
	xdrtest.New(
		"RENAME, failed", &v3.RenameRes{Status: v3.ErrXDev, From: noWcc, To: wcc},
		&gx.Rename3res_default{Status: gx.NFS3ERR_XDEV, Resfail: gx.Rename3resfail{FromdirWcc: gxNoWcc, TodirWcc: gxWcc}}, xdrtest.Union(gx.ReadRename3res),
	),
	xdrtest.New(
		"LINK", &v3.LinkRes{File: post, Dir: noWcc},
		&gx.Link3res_NFS3_OK{Resok: gx.Link3resok{FileAttributes: gxPost, LinkdirWcc: gxNoWcc}}, xdrtest.Union(gx.ReadLink3res),
	),
	xdrtest.New(
		"LINK, failed", &v3.LinkRes{Status: v3.ErrMLink, File: none, Dir: wcc},
		&gx.Link3res_default{Status: gx.NFS3ERR_MLINK, Resfail: gx.Link3resfail{FileAttributes: gxNone, LinkdirWcc: gxWcc}}, xdrtest.Union(gx.ReadLink3res),
	),
	xdrtest.New(
		"READDIR", &v3.ReaddirRes{Dir: post, Verf: verf, Entries: []v3.Entry{{FileID: 7, Name: "a", Cookie: 9}, {FileID: 8, Name: "bb", Cookie: 10}}, EOF: true},
		&gx.Readdir3res_NFS3_OK{Resok: gx.Readdir3resok{DirAttributes: gxPost, Cookieverf: verf, Reply: gx.Dirlist3{
			Entries: &gx.Entry3{Fileid: 7, Name: "a", Cookie: 9, Nextentry: &gx.Entry3{Fileid: 8, Name: "bb", Cookie: 10}}, Eof: true,
		}}}, xdrtest.Union(gx.ReadReaddir3res),
	),
	xdrtest.New(
		"READDIR, failed", &v3.ReaddirRes{Status: v3.ErrBadCookie, Dir: post},
		&gx.Readdir3res_default{Status: gx.NFS3ERR_BAD_COOKIE, Resfail: gx.Readdir3resfail{DirAttributes: gxPost}}, xdrtest.Union(gx.ReadReaddir3res),
	),
	xdrtest.New(
		"READDIRPLUS", &v3.ReaddirplusRes{ReaddirRes: v3.ReaddirRes{Dir: none, Verf: verf, Entries: []v3.Entry{
			{FileID: 7, Name: "a", Cookie: 9, Attr: post, Object: fh}, {FileID: 8, Name: "bb", Cookie: 10},
		}}},
		&gx.Readdirplus3res_NFS3_OK{Resok: gx.Readdirplus3resok{DirAttributes: gxNone, Cookieverf: verf, Reply: gx.Dirlistplus3{
			Entries: &gx.Entryplus3{
				Fileid: 7, Name: "a", Cookie: 9, NameAttributes: gxPost, NameHandle: &gx.PostOpFh3_TRUE{Handle: gxFH},
				Nextentry: &gx.Entryplus3{Fileid: 8, Name: "bb", Cookie: 10, NameAttributes: gxNone, NameHandle: &gx.PostOpFh3_FALSE{}},
			},
		}}}, xdrtest.Union(gx.ReadReaddirplus3res),
	),
	xdrtest.New(
		"FSSTAT", &v3.FsstatRes{Attr: post, TotalBytes: 1, FreeBytes: 2, AvailBytes: 3, TotalFiles: 4, FreeFiles: 5, AvailFiles: 6, InvarSec: 7},
		&gx.Fsstat3res_NFS3_OK{Resok: gx.Fsstat3resok{ObjAttributes: gxPost, Tbytes: 1, Fbytes: 2, Abytes: 3, Tfiles: 4, Ffiles: 5, Afiles: 6, Invarsec: 7}},
		xdrtest.Union(gx.ReadFsstat3res),
	),
	xdrtest.New(
		"FSSTAT, failed", &v3.FsstatRes{Status: v3.ErrAcces},
		&gx.Fsstat3res_default{Status: gx.NFS3ERR_ACCES, Resfail: gx.Fsstat3resfail{ObjAttributes: gxNone}}, xdrtest.Union(gx.ReadFsstat3res),
	),
	xdrtest.New(
		"FSINFO", &v3.FsinfoRes{
			Attr: post, RtMax: 1, RtPref: 2, RtMult: 3, WtMax: 4, WtPref: 5, WtMult: 6, DtPref: 7, MaxFileSize: 8,
			TimeDelta: v3.Time{Sec: 9, Nsec: 10}, Properties: v3.PropLink | v3.PropSymlink | v3.PropHomogeneous | v3.PropCanSetTime,
		},
		&gx.Fsinfo3res_NFS3_OK{Resok: gx.Fsinfo3resok{
			ObjAttributes: gxPost, Rtmax: 1, Rtpref: 2, Rtmult: 3, Wtmax: 4, Wtpref: 5, Wtmult: 6, Dtpref: 7, Maxfilesize: 8,
			TimeDelta: gx.Nfstime3{Seconds: 9, Nseconds: 10}, Properties: gx.FSF3_LINK | gx.FSF3_SYMLINK | gx.FSF3_HOMOGENEOUS | gx.FSF3_CANSETTIME,
		}}, xdrtest.Union(gx.ReadFsinfo3res),
	),
	xdrtest.New(
		"FSINFO, failed", &v3.FsinfoRes{Status: v3.ErrBadHandle},
		&gx.Fsinfo3res_default{Status: gx.NFS3ERR_BADHANDLE, Resfail: gx.Fsinfo3resfail{ObjAttributes: gxNone}}, xdrtest.Union(gx.ReadFsinfo3res),
	),
	xdrtest.New(
		"PATHCONF", &v3.PathconfRes{Attr: post, LinkMax: 1, NameMax: 2, NoTrunc: true, CaseInsensitive: true},
		&gx.Pathconf3res_NFS3_OK{Resok: gx.Pathconf3resok{ObjAttributes: gxPost, Linkmax: 1, NameMax: 2, NoTrunc: true, CaseInsensitive: true}},
		xdrtest.Union(gx.ReadPathconf3res),
	),
	xdrtest.New(
		"PATHCONF, others", &v3.PathconfRes{ChownRestricted: true, CasePreserving: true},
		&gx.Pathconf3res_NFS3_OK{Resok: gx.Pathconf3resok{ObjAttributes: gxNone, ChownRestricted: true, CasePreserving: true}},
		xdrtest.Union(gx.ReadPathconf3res),
	),
	xdrtest.New("COMMIT", &v3.CommitRes{Wcc: wcc, Verf: verf}, &gx.Commit3res_NFS3_OK{Resok: gx.Commit3resok{FileWcc: gxWcc, Verf: verf}}, xdrtest.Union(gx.ReadCommit3res)),
	xdrtest.New(
		"COMMIT, failed", &v3.CommitRes{Status: v3.ErrServerFault, Wcc: noWcc},
		&gx.Commit3res_default{Status: gx.NFS3ERR_SERVERFAULT, Resfail: gx.Commit3resfail{FileWcc: gxNoWcc}}, xdrtest.Union(gx.ReadCommit3res),
	),
}
