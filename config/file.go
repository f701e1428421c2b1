package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// file is a configuration file that has been read: its values, and the line
// of every key.
type file struct {
	name   string
	values map[string]any
	lines  map[string]int
}

// readFile reads a file and checks that its keys exist. Values are checked later.
func readFile(name string) (*file, []Problem) {
	f := &file{name: name, values: map[string]any{}, lines: map[string]int{}}
	r, err := os.Open(name)
	if err != nil {
		return f, []Problem{{Source: name, Text: fmt.Sprintf("cannot be read: %v", errors.Unwrap(err))}}
	}
	defer r.Close()
	dec := yaml.NewDecoder(r)
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return f, nil // empty, or comments only
	case err != nil:
		return f, yamlProblems(name, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return f, []Problem{{Source: name, Text: `has a second document after "---"; write one only`}}
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return f, nil
	}
	if root.Kind != yaml.MappingNode {
		return f, []Problem{{Source: name, Text: "is not a mapping of keys to values; write e.g. shares: {data: {path: /srv/data}}"}}
	}
	if err := root.Decode(&map[string]any{}); err != nil { // duplicate keys, anchors that contain themselves
		return f, yamlProblems(name, err)
	}
	bad := f.walk(root, "", reflect.TypeFor[Config]())
	if err := root.Decode(&f.values); err != nil {
		bad = append(bad, yamlProblems(name, err)...)
	}
	return f, bad
}

func yamlProblems(name string, err error) []Problem {
	var te *yaml.TypeError
	if !errors.As(err, &te) {
		return []Problem{{Source: name, Text: strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	var out []Problem
	for _, e := range te.Errors {
		out = append(out, Problem{Source: name, Text: e})
	}
	return out
}

func join(key, sub string) string {
	if key == "" {
		return sub
	}
	return key + "." + sub
}

// walk records the lines of the keys below n. It reports and removes keys that t does not have, keys without a value, and
// values that should be mappings and are not.
func (f *file) walk(n *yaml.Node, key string, t reflect.Type) (bad []Problem) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.SequenceNode {
		for i, e := range n.Content {
			f.lines[fmt.Sprintf("%s[%d]", key, i)] = e.Line
		}
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	kept := n.Content[:0:0]
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Tag == "!!merge" { // "<<: *anchor" stands for the anchor's keys
			bad = append(bad, f.walk(v, key, t)...)
			kept = append(kept, k, v)
			continue
		}
		sub := join(key, k.Value)
		f.lines[sub] = k.Line
		if text := check(k, v, t); text != "" {
			bad = append(bad, Problem{Source: f.at(k.Line), Key: sub, Text: text})
			continue
		}
		ft := valueType(t, k.Value)
		if ft == modeType {
			asWritten(v)
		}
		bad = append(bad, f.walk(v, sub, ft)...)
		kept = append(kept, k, v)
	}
	n.Content = kept
	return bad
}

// asWritten makes YAML return a value as text: YAML would read 0644 as the number 420.
func asWritten(v *yaml.Node) {
	if v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	if v.Kind == yaml.ScalarNode {
		v.Tag = "!!str"
	}
}

// valueType returns the type of a key's value below a value of type t.
func valueType(t reflect.Type, key string) reflect.Type {
	switch {
	case t == sharesType:
		return t.Elem() // written as a mapping by name
	case t.Kind() == reflect.Struct:
		ft, _ := fieldOf(t, key)
		return ft
	}
	return t
}

var (
	sharesType = reflect.TypeFor[[]Share]()
	shareType  = reflect.TypeFor[Share]()
	modeType   = reflect.TypeFor[Mode]()
)

// check returns what is wrong with a key below a value of type t, or with the form of its value.
func check(k, v *yaml.Node, t reflect.Type) string {
	if v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	if t.Kind() == reflect.Struct && parsers[t] == nil {
		if known := keysOf(t); !slices.Contains(known, k.Value) {
			return unknownKey(k.Value, known)
		}
	}
	if v.Kind == yaml.ScalarNode && v.Tag == "!!null" {
		return "has no value; give it one or remove the key"
	}
	switch vt := valueType(t, k.Value); {
	case vt == sharesType && t != sharesType && v.Kind != yaml.MappingNode:
		return "is not a mapping of names to shares; write e.g. shares: {data: {path: /srv/data}}"
	case vt.Kind() == reflect.Struct && parsers[vt] == nil && v.Kind != yaml.MappingNode:
		return fmt.Sprintf("%q is not a mapping; known here are %s", v.Value, strings.Join(keysOf(vt), ", "))
	}
	return ""
}

func (f *file) at(line int) string { return fmt.Sprintf("%s:%d", f.name, line) }
