package config

import (
	"reflect"
	"slices"
	"strings"
)

// Problem is one thing wrong with a configuration.
type Problem struct {
	Source string // where it was written: "fileserver.yaml:12", "FILESERVER_NFS_PORT", "--allow"; empty: nowhere
	Key    string // e.g. shares.data.allow[1]; empty if the problem is not about one key
	Text   string // the value, what is wrong with it, and what to write instead
}

// String is the line for the operator.
func (p Problem) String() string {
	var parts []string
	if p.Source != "" {
		parts = append(parts, p.Source)
	}
	// The name of a flag or a variable already contains the key.
	if p.Key != "" && !strings.HasPrefix(p.Source, "--") && !strings.HasPrefix(p.Source, envPrefix) {
		parts = append(parts, p.Key)
	}
	return strings.Join(append(parts, p.Text), ": ")
}

// Error has all problems of a configuration that is refused.
type Error struct {
	Problems []Problem
}

// Error implements error: one line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// keysOf lists the keys that can be written below one of type t.
func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		tag := t.Field(i).Tag.Get("mapstructure")
		if tag == "-" || t == shareType && tag == "name" { // a share's name is the key above
			continue
		}
		keys = append(keys, tag)
	}
	slices.Sort(keys)
	return keys
}

// fieldOf returns the type of a key of a struct of the configuration.
func fieldOf(t reflect.Type, key string) (reflect.Type, bool) {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("mapstructure") == key {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}

// unknownKey returns the error text for an unknown key.
func unknownKey(key string, known []string) string {
	if s := nearest(key, known); s != "" {
		return "unknown key; did you mean " + s + "?"
	}
	return "unknown key; known here are " + strings.Join(known, ", ")
}

// nearest returns the word most similar to s, or "" if none is similar.
func nearest(s string, words []string) string {
	norm := func(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)) }
	best, at := "", max(2, len(s)/3)+1
	for _, w := range words {
		if d := distance(norm(s), norm(w)); d < at && d < len(norm(w)) {
			best, at = w, d
		}
	}
	return best
}

// distance returns the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
