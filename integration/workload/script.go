package workload

import (
	"embed"
	"errors"
	"io/fs"
)

//go:embed scripts
var scripts embed.FS

// Script returns the text of a workload: the protocol's lib.sh, what all protocols share, the workload itself, and the protocol's
// end.sh. own is the protocol's directory "scripts"; a workload there goes before the one of this package.
func Script(own fs.FS, name string) (string, error) {
	var whole string
	for _, part := range []struct {
		name string
		from []fs.FS
	}{
		{"common", []fs.FS{scripts}}, {"lib", []fs.FS{own}}, {name, []fs.FS{own, scripts}}, {"end", []fs.FS{own}},
	} {
		var text []byte
		err := fs.ErrNotExist
		for _, from := range part.from {
			if errors.Is(err, fs.ErrNotExist) {
				text, err = fs.ReadFile(from, "scripts/"+part.name+".sh")
			}
		}
		if err != nil {
			return "", err
		}
		whole += string(text)
	}
	return whole, nil
}
