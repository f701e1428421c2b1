package wire

import (
	"errors"
	"testing"
)

var (
	times  = Times{1, 2, 3, 1 << 60}
	basics = []BasicInfo{{times, FileAttributeArchive}, {Times{FiletimeUnchanged, FiletimeFreeze, FiletimeThaw, 0}, 0x80000000}}
	alls   = []AllInfo{{
		Basic: basics[0], Standard: StandardInfo{4096, 5, 1, true, false}, IndexNumber: 1 << 40, EASize: 7, Access: FileAllAccess,
		Position: 9, Mode: FileWriteThrough, Alignment: 1, Name: `\dir\file`,
	}, {}}
	renames = []RenameInfo{{Flags: RenameReplaceIfExists, Name: `dir\new`}, {RootDirectory: 1, Name: ""}}
	posixes = []PosixInfo{{times, 1, 2, FileAttributeNormal, 3, 4, 5, ReparseTagNFS, 0644, sid, sid}}
	volumes = []FsVolumeInfo{{CreationTime: 1, Serial: 2, SupportsObjects: true, Label: "label"}, {}}
	fsAttrs = []FsAttributeInfo{{Attributes: FileCaseSensitiveSearch, MaxNameLength: 255, Name: "NTFS"}}
)

func TestFileInfo(t *testing.T) {
	checkData(t, ParseBasicInfo, (*BasicInfo).Append, basics...)
	checkData(t, ParseStandardInfo, (*StandardInfo).Append, StandardInfo{1 << 40, 2, 3, true, true})
	checkData(t, ParseAllInfo, (*AllInfo).Append, alls...)
	checkData(t, ParseNetworkOpenInfo, (*NetworkOpenInfo).Append, NetworkOpenInfo{times, 1, 1 << 50, FileAttributeDirectory})
	checkData(t, ParseAttributeTagInfo, (*AttributeTagInfo).Append, AttributeTagInfo{FileAttributeReparsePoint, ReparseTagSymlink})
	checkData(t, ParseCompressionInfo, (*CompressionInfo).Append, CompressionInfo{1 << 40, CompressionFormatLZNT1})
	checkData(t, ParseFileIDInfo, (*FileIDInfo).Append, FileIDInfo{1 << 40, testGUID})
	checkData(t, ParseStandardLinkInfo, (*StandardLinkInfo).Append, StandardLinkInfo{1, 2, true, false})
	checkData(t, ParsePosixInfo, (*PosixInfo).Append, posixes...)
	checkData(t, ParsePipeInfo, (*PipeInfo).Append, PipeInfo{1, 1})
	checkData(t, ParsePipeLocalInfo, (*PipeLocalInfo).Append, PipeLocalInfo{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	checkData(t, ParseNameInfo, func(s *string, b []byte) []byte { return AppendNameInfo(b, *s) }, "näme", "")
	checkData(t, ParseInfo32, func(v *uint32, b []byte) []byte { return AppendInfo32(b, *v) }, 1<<31)
	checkData(t, ParseInfo64, func(v *uint64, b []byte) []byte { return AppendInfo64(b, *v) }, 1<<63)
	checkData(t, ParseInfo8, func(v *uint8, b []byte) []byte { return append(b, *v) }, 1)
}

func TestFsInfo(t *testing.T) {
	checkData(t, ParseFsVolumeInfo, (*FsVolumeInfo).Append, volumes...)
	checkData(t, ParseFsSizeInfo, (*FsSizeInfo).Append, FsSizeInfo{1 << 40, 2, 3, 512})
	checkData(t, ParseFsFullSizeInfo, (*FsFullSizeInfo).Append, FsFullSizeInfo{1 << 40, 2, 1 << 41, 3, 512})
	checkData(t, ParseFsDeviceInfo, (*FsDeviceInfo).Append, FsDeviceInfo{FileDeviceDisk, FileDeviceIsMounted})
	checkData(t, ParseFsAttributeInfo, (*FsAttributeInfo).Append, fsAttrs...)
	checkData(t, ParseFsControlInfo, (*FsControlInfo).Append, FsControlInfo{1, 2, 3, ^uint64(0), ^uint64(0), 6})
	checkData(t, ParseFsObjectIDInfo, (*FsObjectIDInfo).Append, FsObjectIDInfo{testGUID, [48]byte{47: 1}})
	checkData(t, ParseFsSectorSizeInfo, (*FsSectorSizeInfo).Append, FsSectorSizeInfo{512, 4096, 4096, 512, SSInfoAlignedDevice, 1, 2})
	checkData(t, ParseFsPosixInfo, (*FsPosixInfo).Append, FsPosixInfo{1 << 20, 4096, 1 << 40, 2, 3, 4, 5, 1 << 50})
}

func TestRenameInfo(t *testing.T) {
	for _, c := range []InfoClass{FileRenameInformation, FileRenameInformationEx, FileLinkInformation, FileLinkInformationEx} {
		checkData(t, func(b []byte) (RenameInfo, error) { return ParseRenameInfo(c, b) },
			func(i *RenameInfo, b []byte) []byte { return i.Append(c, b) }, renames...)
	}
	ex := RenameInfo{Flags: RenamePosixSemantics | RenameReplaceIfExists, Name: "x"}
	if i, err := ParseRenameInfo(FileRenameInformationEx, ex.Append(FileRenameInformationEx, nil)); err != nil || i != ex {
		t.Error(i, err)
	}
	if i, err := ParseRenameInfo(FileRenameInformation, ex.Append(FileRenameInformation, nil)); err != nil || i.Flags != RenameReplaceIfExists {
		t.Error(i, err)
	}
	b := renames[0].Append(FileRenameInformation, nil)
	b[16]++ // half a character
	if _, err := ParseRenameInfo(FileRenameInformation, append(b, 0)); !errors.Is(err, ErrMalformed) {
		t.Error("odd name:", err)
	}
}

// The answer to a query of the least length has at least that length.
func TestMinQuery(t *testing.T) {
	for c, n := range map[InfoClass]int{
		FileBasicInformation: len(basics[0].Append(nil)), FileStandardInformation: len((&StandardInfo{}).Append(nil)),
		FileNetworkOpenInformation: len((&NetworkOpenInfo{}).Append(nil)), FilePipeLocalInformation: len((&PipeLocalInfo{}).Append(nil)),
		FileIDInformation: len((&FileIDInfo{}).Append(nil)), FilePosixInformation: len((&PosixInfo{}).Append(nil)),
		FileCompressionInformation: len((&CompressionInfo{}).Append(nil)), FileStandardLinkInformation: len((&StandardLinkInfo{}).Append(nil)),
	} {
		if m, ok := MinQueryFile(c); !ok || m != n {
			t.Errorf("class %d: %d bytes, not %d", c, m, n)
		}
	}
	for c, n := range map[InfoClass]int{
		FileFsSizeInformation: len((&FsSizeInfo{}).Append(nil)), FileFsFullSizeInformation: len((&FsFullSizeInfo{}).Append(nil)),
		FileFsControlInformation: len((&FsControlInfo{}).Append(nil)), FileFsObjectIDInformation: len((&FsObjectIDInfo{}).Append(nil)),
		FileFsSectorSizeInformation: len((&FsSectorSizeInfo{}).Append(nil)), FileFsPosixInformation: len((&FsPosixInfo{}).Append(nil)),
	} {
		if m, ok := MinQueryFilesystem(c); !ok || m != n {
			t.Errorf("file system class %d: %d bytes, not %d", c, m, n)
		}
	}
	if _, ok := MinQueryFile(FileRenameInformation); ok {
		t.Error("FileRenameInformation can be queried")
	}
	if _, ok := MinQueryFilesystem(FileFsDriverPathInformation); ok {
		t.Error("FileFsDriverPathInformation can be queried")
	}
}

func TestAccessMask(t *testing.T) {
	if FileAllAccess != 0x1f01ff || FileGenericRead != 0x120089 || FileGenericWrite != 0x120116 || FileGenericExecute != 0x1200a0 {
		t.Errorf("%#x %#x %#x %#x", FileAllAccess, FileGenericRead, FileGenericWrite, FileGenericExecute)
	}
	if m := (GenericRead | GenericExecute | Delete).MapGeneric(); m != 0x1300a9 {
		t.Errorf("%#x", m)
	}
	if m := (GenericAll | GenericWrite).MapGeneric(); m != FileAllAccess {
		t.Errorf("%#x", m)
	}
	for m, want := range map[AccessMask]bool{0: false, FileReadData: true, 0x200: false, GenericRead | MaximumAllowed: true, 0x04000000: false} {
		if m.Valid() != want {
			t.Errorf("%#x: %v", m, !want)
		}
	}
}

func FuzzInfo(f *testing.F) {
	for _, v := range alls {
		f.Add(v.Append(nil))
	}
	f.Add(renames[0].Append(FileRenameInformation, nil))
	f.Add(posixes[0].Append(nil))
	f.Add(volumes[0].Append(nil))
	f.Add(fsAttrs[0].Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := ParseAllInfo(b); err == nil {
			if again, err := ParseAllInfo(v.Append(nil)); err != nil || again != v {
				t.Fatal(again, err)
			}
		}
		for _, c := range []InfoClass{FileRenameInformation, FileLinkInformationEx} {
			if v, err := ParseRenameInfo(c, b); err == nil {
				if again, err := ParseRenameInfo(c, v.Append(c, nil)); err != nil || again != v {
					t.Fatal(again, err)
				}
			}
		}
		if v, err := ParseFsVolumeInfo(b); err == nil {
			if again, err := ParseFsVolumeInfo(v.Append(nil)); err != nil || again != v {
				t.Fatal(again, err)
			}
		}
		ParsePosixInfo(b)
		ParseNetworkOpenInfo(b)
		ParseFsAttributeInfo(b)
		ParseBasicInfo(b)
	})
}
