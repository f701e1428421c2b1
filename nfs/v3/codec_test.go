package v3_test

import (
	"testing"

	gx "github.com/buildbarn/go-xdr/pkg/protocols/nfsv3"

	v3 "fileserver/nfs/v3"
	"fileserver/nfs/xdr/xdrtest"
	"fileserver/vfs"
)

// The same values in our types and in go-xdr's. No two fields of a type have the same value.
var (
	fh   = v3.Handle("handle-0123456789")
	gxFH = gx.NfsFh3{Data: fh}

	what   = v3.DirOp{Dir: fh, Name: "name"}
	gxWhat = gx.Diropargs3{Dir: gxFH, Name: "name"}
	to     = v3.DirOp{Dir: v3.Handle("abcd"), Name: "t"}
	gxTo   = gx.Diropargs3{Dir: gx.NfsFh3{Data: []byte("abcd")}, Name: "t"}

	attr = v3.Attr{
		Type: v3.TypeChr, Mode: 0o4755, Nlink: 3, UID: 1000, GID: 100, Size: 1 << 40, Used: 1<<40 + 512, Rdev: vfs.Dev{Major: 8, Minor: 17},
		FSID: 0x1122334455667788, FileID: 0xcafe, Atime: v3.Time{Sec: 1, Nsec: 2}, Mtime: v3.Time{Sec: 3, Nsec: 4}, Ctime: v3.Time{Sec: 5, Nsec: 6},
	}
	gxAttr = gx.Fattr3{
		Type: gx.NF3CHR, Mode: 0o4755, Nlink: 3, Uid: 1000, Gid: 100, Size: 1 << 40, Used: 1<<40 + 512, Rdev: gx.Specdata3{Specdata1: 8, Specdata2: 17},
		Fsid: 0x1122334455667788, Fileid: 0xcafe, Atime: gx.Nfstime3{Seconds: 1, Nseconds: 2}, Mtime: gx.Nfstime3{Seconds: 3, Nseconds: 4}, Ctime: gx.Nfstime3{Seconds: 5, Nseconds: 6},
	}
	post   = v3.PostOpAttr{Present: true, Attr: attr}
	gxPost = &gx.PostOpAttr_TRUE{Attributes: gxAttr}
	none   = v3.PostOpAttr{}
	gxNone = &gx.PostOpAttr_FALSE{}

	wcc   = v3.WccData{Before: v3.PreOpAttr{Present: true, Size: 77, Mtime: v3.Time{Sec: 7, Nsec: 8}, Ctime: v3.Time{Sec: 9, Nsec: 10}}, After: post}
	gxWcc = gx.WccData{Before: &gx.PreOpAttr_TRUE{Attributes: gx.WccAttr{
		Size: 77, Mtime: gx.Nfstime3{Seconds: 7, Nseconds: 8}, Ctime: gx.Nfstime3{Seconds: 9, Nseconds: 10},
	}}, After: gxPost}
	noWcc   = v3.WccData{}
	gxNoWcc = gx.WccData{Before: &gx.PreOpAttr_FALSE{}, After: gxNone}

	allSet = v3.SetAttr{
		Mode: p(uint32(0o640)), UID: p(uint32(1)), GID: p(uint32(2)), Size: p(uint64(1) << 33),
		AtimeHow: v3.SetToClientTime, Atime: v3.Time{Sec: 11, Nsec: 12}, MtimeHow: v3.SetToClientTime, Mtime: v3.Time{Sec: 13, Nsec: 14},
	}
	gxAllSet = gx.Sattr3{
		Mode: &gx.SetMode3_TRUE{Mode: 0o640}, Uid: &gx.SetUid3_TRUE{Uid: 1}, Gid: &gx.SetGid3_TRUE{Gid: 2}, Size: &gx.SetSize3_TRUE{Size: 1 << 33},
		Atime: &gx.SetAtime_SET_TO_CLIENT_TIME{Atime: gx.Nfstime3{Seconds: 11, Nseconds: 12}}, Mtime: &gx.SetMtime_SET_TO_CLIENT_TIME{Mtime: gx.Nfstime3{Seconds: 13, Nseconds: 14}},
	}
	fewSet   = v3.SetAttr{AtimeHow: v3.SetToServerTime}
	gxFewSet = gx.Sattr3{
		Mode: &gx.SetMode3_default{}, Uid: &gx.SetUid3_default{}, Gid: &gx.SetGid3_default{}, Size: &gx.SetSize3_default{},
		Atime: &gx.SetAtime_default{SetIt: gx.SET_TO_SERVER_TIME}, Mtime: &gx.SetMtime_default{SetIt: gx.DONT_CHANGE},
	}
	verf = [8]byte{1, 2, 3, 4, 5, 6, 7, 8}
)

func TestCodecs(t *testing.T)  { xdrtest.Run(t, append(argCases, resCases...)) }
func FuzzArgs(f *testing.F)    { xdrtest.Fuzz(f, argCases) }
func FuzzResults(f *testing.F) { xdrtest.Fuzz(f, resCases) }

var argCases = []xdrtest.Case{
	xdrtest.New("GETATTR", &v3.GetattrArgs{Object: fh}, &gx.Getattr3args{Object: gxFH}, xdrtest.From[gx.Getattr3args]),
	xdrtest.New(
		"SETATTR", &v3.SetattrArgs{Object: fh, Attr: allSet, Guard: &v3.Time{Sec: 15, Nsec: 16}},
		&gx.Setattr3args{Object: gxFH, NewAttributes: gxAllSet, Guard: &gx.Sattrguard3_TRUE{ObjCtime: gx.Nfstime3{Seconds: 15, Nseconds: 16}}},
		xdrtest.From[gx.Setattr3args],
	),
	xdrtest.New(
		"SETATTR, no guard", &v3.SetattrArgs{Object: fh, Attr: fewSet},
		&gx.Setattr3args{Object: gxFH, NewAttributes: gxFewSet, Guard: &gx.Sattrguard3_FALSE{}}, xdrtest.From[gx.Setattr3args],
	),
	xdrtest.New("LOOKUP", &v3.LookupArgs{What: what}, &gx.Lookup3args{What: gxWhat}, xdrtest.From[gx.Lookup3args]),
	xdrtest.New("ACCESS", &v3.AccessArgs{Object: fh, Access: 63}, &gx.Access3args{Object: gxFH, Access: 63}, xdrtest.From[gx.Access3args]),
	xdrtest.New("READLINK", &v3.ReadlinkArgs{Symlink: fh}, &gx.Readlink3args{Symlink: gxFH}, xdrtest.From[gx.Readlink3args]),
	xdrtest.New("READ", &v3.ReadArgs{File: fh, Offset: 1 << 33, Count: 4096}, &gx.Read3args{File: gxFH, Offset: 1 << 33, Count: 4096}, xdrtest.From[gx.Read3args]),
	xdrtest.New(
		"WRITE", &v3.WriteArgs{File: fh, Offset: 1 << 33, Count: 5, Stable: v3.DataSync, Data: []byte("hello")},
		&gx.Write3args{File: gxFH, Offset: 1 << 33, Count: 5, Stable: gx.DATA_SYNC, Data: []byte("hello")}, xdrtest.From[gx.Write3args],
	),
	xdrtest.New(
		"CREATE, unchecked", &v3.CreateArgs{Where: what, Mode: v3.Unchecked, Attr: allSet},
		&gx.Create3args{Where: gxWhat, How: &gx.Createhow3_UNCHECKED{ObjAttributes: gxAllSet}}, xdrtest.From[gx.Create3args],
	),
	xdrtest.New(
		"CREATE, guarded", &v3.CreateArgs{Where: what, Mode: v3.Guarded, Attr: fewSet},
		&gx.Create3args{Where: gxWhat, How: &gx.Createhow3_GUARDED{ObjAttributes: gxFewSet}}, xdrtest.From[gx.Create3args],
	),
	xdrtest.New(
		"CREATE, exclusive", &v3.CreateArgs{Where: what, Mode: v3.Exclusive, Verf: verf},
		&gx.Create3args{Where: gxWhat, How: &gx.Createhow3_EXCLUSIVE{Verf: verf}}, xdrtest.From[gx.Create3args],
	),
	xdrtest.New("MKDIR", &v3.MkdirArgs{Where: what, Attr: allSet}, &gx.Mkdir3args{Where: gxWhat, Attributes: gxAllSet}, xdrtest.From[gx.Mkdir3args]),
	xdrtest.New(
		"SYMLINK", &v3.SymlinkArgs{Where: what, Attr: allSet, Path: "../a/b"},
		&gx.Symlink3args{Where: gxWhat, Symlink: gx.Symlinkdata3{SymlinkAttributes: gxAllSet, SymlinkData: "../a/b"}}, xdrtest.From[gx.Symlink3args],
	),
	xdrtest.New(
		"MKNOD, device", &v3.MknodArgs{Where: what, Type: v3.TypeBlk, Attr: allSet, Dev: vfs.Dev{Major: 3, Minor: 4}},
		&gx.Mknod3args{Where: gxWhat, What: &gx.Mknoddata3_NF3BLK{Device: gx.Devicedata3{DevAttributes: gxAllSet, Spec: gx.Specdata3{Specdata1: 3, Specdata2: 4}}}},
		xdrtest.From[gx.Mknod3args],
	),
	xdrtest.New(
		"MKNOD, socket", &v3.MknodArgs{Where: what, Type: v3.TypeSock, Attr: fewSet},
		&gx.Mknod3args{Where: gxWhat, What: &gx.Mknoddata3_NF3SOCK{PipeAttributes: gxFewSet}}, xdrtest.From[gx.Mknod3args],
	),
	xdrtest.New(
		"MKNOD, regular", &v3.MknodArgs{Where: what, Type: v3.TypeReg},
		&gx.Mknod3args{Where: gxWhat, What: &gx.Mknoddata3_default{Type: gx.NF3REG}}, xdrtest.From[gx.Mknod3args],
	),
	xdrtest.New("REMOVE", &v3.RemoveArgs{Object: what}, &gx.Remove3args{Object: gxWhat}, xdrtest.From[gx.Remove3args]),
	xdrtest.New("RMDIR", &v3.RemoveArgs{Object: what}, &gx.Rmdir3args{Object: gxWhat}, xdrtest.From[gx.Rmdir3args]),
	xdrtest.New("RENAME", &v3.RenameArgs{From: what, To: to}, &gx.Rename3args{From: gxWhat, To: gxTo}, xdrtest.From[gx.Rename3args]),
	xdrtest.New("LINK", &v3.LinkArgs{File: v3.Handle("f"), Link: what}, &gx.Link3args{File: gx.NfsFh3{Data: []byte("f")}, Link: gxWhat}, xdrtest.From[gx.Link3args]),
	xdrtest.New(
		"READDIR", &v3.ReaddirArgs{Dir: fh, Cookie: 1 << 40, Verf: verf, Count: 4096},
		&gx.Readdir3args{Dir: gxFH, Cookie: 1 << 40, Cookieverf: verf, Count: 4096}, xdrtest.From[gx.Readdir3args],
	),
	xdrtest.New(
		"READDIRPLUS", &v3.ReaddirplusArgs{Dir: fh, Cookie: 1 << 40, Verf: verf, DirCount: 512, MaxCount: 4096},
		&gx.Readdirplus3args{Dir: gxFH, Cookie: 1 << 40, Cookieverf: verf, Dircount: 512, Maxcount: 4096}, xdrtest.From[gx.Readdirplus3args],
	),
	xdrtest.New("FSSTAT", &v3.FsArgs{Object: fh}, &gx.Fsstat3args{Fsroot: gxFH}, xdrtest.From[gx.Fsstat3args]),
	xdrtest.New("FSINFO", &v3.FsArgs{Object: fh}, &gx.Fsinfo3args{Fsroot: gxFH}, xdrtest.From[gx.Fsinfo3args]),
	xdrtest.New("PATHCONF", &v3.FsArgs{Object: fh}, &gx.Pathconf3args{Object: gxFH}, xdrtest.From[gx.Pathconf3args]),
	xdrtest.New("COMMIT", &v3.CommitArgs{File: fh, Offset: 1 << 34, Count: 7}, &gx.Commit3args{File: gxFH, Offset: 1 << 34, Count: 7}, xdrtest.From[gx.Commit3args]),
}
