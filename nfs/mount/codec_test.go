package mount_test

import (
	"io"
	"testing"

	gx "github.com/buildbarn/go-xdr/pkg/protocols/mount"

	"fileserver/nfs/mount"
	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr/xdrtest"
)

// dirpath is go-xdr's type, which has functions and no methods.
type dirpath string

func (p dirpath) WriteTo(w io.Writer) (int64, error) { return gx.WriteDirpath(w, string(p)) }

func readDirpath(r io.Reader) (io.WriterTo, error) {
	s, _, err := gx.ReadDirpath(r)
	return dirpath(s), err
}

// list is a list of go-xdr's, which are pointers to the first element.
type list[T any] struct {
	first *T
	write func(io.Writer, *T) (int64, error)
}

func (l list[T]) WriteTo(w io.Writer) (int64, error) { return l.write(w, l.first) }

func readList[T any](read func(io.Reader) (*T, int64, error), write func(io.Writer, *T) (int64, error)) func(io.Reader) (io.WriterTo, error) {
	return func(r io.Reader) (io.WriterTo, error) {
		first, _, err := read(r)
		return list[T]{first, write}, err
	}
}

var (
	cases = []xdrtest.Case{
		xdrtest.New("path", &mount.PathArgs{Path: "/data/sub"}, dirpath("/data/sub"), readDirpath),
		xdrtest.New(
			"MNT", &mount.MntRes{Handle: []byte("0123456789"), Flavors: []rpc.Flavor{rpc.AuthSys, rpc.AuthNone}},
			&gx.Mountres3_MNT3_OK{Mountinfo: gx.Mountres3Ok{Fhandle: []byte("0123456789"), AuthFlavors: []int32{1, 0}}},
			xdrtest.Union(gx.ReadMountres3),
		),
		xdrtest.New(
			"MNT, failed", &mount.MntRes{Status: mount.ErrAcces},
			&gx.Mountres3_default{FhsStatus: gx.MNT3ERR_ACCES}, xdrtest.Union(gx.ReadMountres3),
		),
		xdrtest.New("DUMP, empty", &mount.DumpRes{}, list[gx.Mountbody]{nil, gx.WriteMountlist}, readList(gx.ReadMountlist, gx.WriteMountlist)),
		xdrtest.New(
			"DUMP", &mount.DumpRes{Mounts: []mount.Mount{{Host: "a", Path: "/x"}, {Host: "b", Path: "/y"}}},
			list[gx.Mountbody]{
				&gx.Mountbody{MlHostname: "a", MlDirectory: "/x", MlNext: &gx.Mountbody{MlHostname: "b", MlDirectory: "/y"}},
				gx.WriteMountlist,
			}, readList(gx.ReadMountlist, gx.WriteMountlist),
		),
		xdrtest.New(
			"EXPORT", &mount.ExportRes{Exports: []mount.Listed{{Path: "/x", Groups: []string{"g", "h"}}, {Path: "/y"}}},
			list[gx.Exportnode]{
				&gx.Exportnode{
					ExDir: "/x", ExGroups: &gx.Groupnode{GrName: "g", GrNext: &gx.Groupnode{GrName: "h"}},
					ExNext: &gx.Exportnode{ExDir: "/y"},
				}, gx.WriteExports,
			}, readList(gx.ReadExports, gx.WriteExports),
		),
	}
)

func TestCodecs(t *testing.T) { xdrtest.Run(t, cases) }
func FuzzCodecs(f *testing.F) { xdrtest.Fuzz(f, cases) }
