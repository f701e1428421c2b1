package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"fileserver/integration/workload"
)

// smallSize is the length of the i-th small file: none, some inline, some that need chunks.
func smallSize(i int) int { return i * 37 % 6000 }

// smallName is where the i-th file is after the renames: the even ones got another name, every third another directory.
func smallName(dir string, i int) string {
	name := fmt.Sprintf("file-%05d", i)
	if i%2 == 0 {
		name = fmt.Sprintf("renamed-%05d", i)
	}
	if i%3 == 0 {
		return filepath.Join(dir, "moved", name)
	}
	return filepath.Join(dir, "many", name)
}

// smallCreate creates n files in one directory, lists them, and renames most.
func smallCreate(dir string, n int) error {
	for _, d := range []string{"many", "moved"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o777); err != nil {
			return err
		}
	}
	var names []string
	for i := range n {
		name := fmt.Sprintf("file-%05d", i)
		names = append(names, name)
		data := make([]byte, smallSize(i))
		workload.Fill(data, uint64(i), 0)
		if err := os.WriteFile(filepath.Join(dir, "many", name), data, 0o640); err != nil {
			return err
		}
	}
	if err := listed(filepath.Join(dir, "many"), names); err != nil {
		return err
	}
	for i, name := range names {
		if to := smallName(dir, i); filepath.Base(to) != name || i%3 == 0 {
			if err := os.Rename(filepath.Join(dir, "many", name), to); err != nil {
				return err
			}
		}
	}
	return smallListed(dir, n)
}

// smallListed compares both directories with what they should hold.
func smallListed(dir string, n int) error {
	names := map[string][]string{}
	for i := range n {
		path := smallName(dir, i)
		names[filepath.Dir(path)] = append(names[filepath.Dir(path)], filepath.Base(path))
	}
	return errors.Join(
		listed(filepath.Join(dir, "many"), names[filepath.Join(dir, "many")]),
		listed(filepath.Join(dir, "moved"), names[filepath.Join(dir, "moved")]))
}

// listed compares a directory's listing with the names that it should hold.
func listed(dir string, names []string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(got)
	names = slices.Sorted(slices.Values(names))
	if slices.Equal(got, names) {
		return nil
	}
	for i := range min(len(got), len(names)) {
		if got[i] != names[i] {
			return fmt.Errorf("%s lists %d names, want %d; the first difference: %q, want %q", dir, len(got), len(names), got[i], names[i])
		}
	}
	return fmt.Errorf("%s lists %d names, want %d", dir, len(got), len(names))
}

// smallCheck lists the files again and reads each.
func smallCheck(dir string, n int) error {
	if err := smallListed(dir, n); err != nil {
		return err
	}
	for i := range n {
		path := smallName(dir, i)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		err = errors.Join(want("size", len(data), smallSize(i)), want("mode", info.Mode(), os.FileMode(modeOr(0o755, 0o640))), workload.Check(data, uint64(i), 0))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// smallRemove removes the files and then the directories. A directory that still has files must not be removable.
func smallRemove(dir string, n int) error {
	if err := os.Remove(filepath.Join(dir, "many")); err == nil {
		return errors.New("a directory with files in it was removed")
	}
	for i := range n {
		if err := os.Remove(smallName(dir, i)); err != nil {
			return err
		}
	}
	for _, d := range []string{"many", "moved"} {
		if err := errors.Join(listed(filepath.Join(dir, d), nil), os.Remove(filepath.Join(dir, d))); err != nil {
			return err
		}
	}
	return listed(dir, nil)
}
