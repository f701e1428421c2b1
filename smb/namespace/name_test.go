package namespace

import (
	"slices"
	"strings"
	"testing"

	"fileserver/smb/wire"
)

func parse(name string, posix bool) (Path, wire.Status) {
	return Parse(wire.AppendUTF16(nil, name), posix)
}

func TestParse(t *testing.T) {
	const (
		ok      = wire.StatusSuccess
		invalid = wire.StatusObjectNameInvalid
	)
	for _, test := range []struct {
		name string
		st   wire.Status
		want Path
	}{
		{"", ok, Path{}},
		{`a`, ok, Path{Elems: []string{"a"}}},
		{`a\B\c.d`, ok, Path{Elems: []string{"a", "B", "c.d"}}},
		{`a\b\`, ok, Path{Elems: []string{"a", "b"}, Slash: true}},
		{`\a`, wire.StatusInvalidParameter, Path{}},
		{`\`, wire.StatusInvalidParameter, Path{}},
		{`a\\b`, invalid, Path{}},
		{`a\.\b`, invalid, Path{}},
		{`..`, wire.StatusObjectPathSyntaxBad, Path{}},
		{`a\..\b`, wire.StatusObjectPathSyntaxBad, Path{}},
		{`a/b`, invalid, Path{}},
		{`a*`, invalid, Path{}},
		{`a?`, invalid, Path{}},
		{`a"`, invalid, Path{}},
		{`a<`, invalid, Path{}},
		{`a|`, invalid, Path{}},
		{"a\x00", invalid, Path{}},
		{"a\x1f", invalid, Path{}},
		{"a. ", ok, Path{Elems: []string{"a. "}}},
		{"ä€𝄞", ok, Path{Elems: []string{"ä€𝄞"}}},
		{"\uf022x\uf020\uf001\uf028", ok, Path{Elems: []string{":x\"\x01 "}}},
		{"a\uf026b", ok, Path{Elems: []string{`a\b`}}},
		{"\uf029\uf029", invalid, Path{}}, // ".."
		{"\uf029", invalid, Path{}},
		{"\uf02ax\uf000", ok, Path{Elems: []string{"\uf02ax\uf000"}}}, // not among them
		{"f::$DATA", ok, Path{Elems: []string{"f"}, Stream: StreamData}},
		{"f::$data", ok, Path{Elems: []string{"f"}, Stream: StreamData}},
		{`d::$INDEX_ALLOCATION`, ok, Path{Elems: []string{"d"}, Stream: StreamIndex}},
		{`d:$I30:$INDEX_ALLOCATION`, ok, Path{Elems: []string{"d"}, Stream: StreamIndex}},
		{`::$INDEX_ALLOCATION`, ok, Path{Stream: StreamIndex}},
		{`::$DATA`, invalid, Path{}},
		{"f:s", ok, Path{Elems: []string{"f"}, Stream: StreamNamed, Name: "s"}},
		{"f:s:$DATA", ok, Path{Elems: []string{"f"}, Stream: StreamNamed, Name: "s"}},
		{"a\\f:\x05 ?*<|>\".:$data", ok, Path{Elems: []string{"a", "f"}, Stream: StreamNamed, Name: "\x05 ?*<|>\"."}},
		{":s", ok, Path{Stream: StreamNamed, Name: "s"}},
		{`a\:s`, invalid, Path{}},
		{`:s\`, invalid, Path{}},
		{`f:s\`, invalid, Path{}},
		{"f:s\x00", invalid, Path{}},
		{"f:s:$DATA:", invalid, Path{}},
		{"f*:s", invalid, Path{}},
		{"..:s", wire.StatusObjectPathSyntaxBad, Path{}},
		{"f:" + strings.Repeat("s", maxStreamName), ok, Path{Elems: []string{"f"}, Stream: StreamNamed, Name: strings.Repeat("s", maxStreamName)}},
		{"f:" + strings.Repeat("s", maxStreamName+1), invalid, Path{}},
		{"f:", invalid, Path{}},
		{"f:s:$X", invalid, Path{}},
		{"f:s:", invalid, Path{}},
		{"f:s/x:$DATA", invalid, Path{}},
		{`d:s\x`, invalid, Path{}},
		{`f::$DATA\`, invalid, Path{}},
		{strings.Repeat(`a\`, maxDepth) + "b", invalid, Path{}},
	} {
		p, st := parse(test.name, false)
		if st != test.st || st == ok && (!slices.Equal(p.Elems, test.want.Elems) || p.Name != test.want.Name || p.Stream != test.want.Stream || p.Slash != test.want.Slash) {
			t.Errorf("%q: %+v %v", test.name, p, st)
		}
	}
	if _, st := Parse([]byte{'a'}, false); st != wire.StatusInvalidParameter {
		t.Error("half a character:", st)
	}
}

func TestParsePosix(t *testing.T) {
	p, st := parse(`a/b:c*/d\e`, true)
	if st != wire.StatusSuccess || !slices.Equal(p.Elems, []string{"a", "b:c*", "d", "e"}) || p.Stream != StreamAny {
		t.Errorf("%+v %v", p, st)
	}
	for _, bad := range []string{"/a", "a/../b", "a//b", ".", "a\x00"} {
		if p, st := parse(bad, true); st == wire.StatusSuccess {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

func TestVisible(t *testing.T) {
	for disk, shown := range map[string]string{
		"plain.txt": "plain.txt", "a:b": "a\uf022b", "x.": "x\uf029", "x ": "x\uf028", " .x": " .x", "\x01\x1f": "\uf001\uf01f",
		`a\b`: "a\uf026b", `"*<>?|`: "\uf020\uf021\uf023\uf024\uf025\uf027", "ä:": "ä\uf022", "x..": "x.\uf029",
	} {
		if got := Visible(disk); got != shown {
			t.Errorf("%q: %q", disk, got)
		}
		if p, st := parse(shown, false); st != wire.StatusSuccess || len(p.Elems) != 1 || p.Elems[0] != disk {
			t.Errorf("%q comes back as %+v %v", disk, p, st)
		}
	}
	if got, _ := wire.UTF16(AppendName(nil, "a:/b/c.")); got != "a\uf022\\b\\c\uf029" {
		t.Errorf("%q", got)
	}
}

func TestEqual(t *testing.T) {
	for _, same := range [][2]string{{"a", "A"}, {"Straße", "STRAßE"}, {"ÄÖ", "äö"}, {"ж", "Ж"}, {"", ""}} {
		if !Equal(same[0], same[1]) {
			t.Errorf("%q and %q differ", same[0], same[1])
		}
	}
	for _, other := range [][2]string{{"a", "b"}, {"a", "aa"}, {"K", "\u212a"}, {"i", "ı"}, {"s", "ſ"}, {"ß", "SS"}} {
		if Equal(other[0], other[1]) || Equal(other[1], other[0]) {
			t.Errorf("%q and %q are the same", other[0], other[1])
		}
	}
	if cased("123-_") || !cased("12a") || !cased("12A") || !cased("\xff") || cased("漢字") {
		t.Error("cased")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`a\b`, "f:s:$DATA", ":s", "f:?\x01", "d::$INDEX_ALLOCATION", "\uf022\uf029", `..\x`, "a/b", "\xff", "x."} {
		f.Add(wire.AppendUTF16(nil, s), true)
		f.Add(wire.AppendUTF16(nil, s), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, posix bool) {
		p, st := Parse(b, posix)
		if st != wire.StatusSuccess {
			return
		}
		if len(p.Elems) > maxDepth {
			t.Fatal(len(p.Elems))
		}
		if named := p.Stream == StreamNamed; named != (p.Name != "") || strings.ContainsAny(p.Name, ":/\\\x00") || len(p.Name) > maxStreamName {
			t.Fatalf("stream %q", p.Name)
		} else if named {
			if q, st := parse("f:"+p.Name+":$Data", false); st != wire.StatusSuccess || q.Name != p.Name || q.Stream != StreamNamed {
				t.Fatalf("stream %q comes back as %q %v", p.Name, q.Name, st)
			}
		}
		for _, e := range p.Elems {
			if e == "" || e == "." || e == ".." || strings.ContainsAny(e, "/\x00") {
				t.Fatalf("element %q", e)
			}
			q, st := parse(Visible(e), false)
			if st != wire.StatusSuccess || len(q.Elems) != 1 || q.Elems[0] != e {
				t.Fatalf("%q comes back as %q %v", e, q.Elems, st)
			}
		}
	})
}
