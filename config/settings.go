package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Setting is one key and its value in force.
type Setting struct {
	Key, Value string
}

// Settings lists every key with its value in force, in the order of the documentation. Keys of shares contain the name of
// the share.
func (c *Config) Settings() []Setting {
	return settings(nil, "", reflect.ValueOf(c).Elem())
}

func settings(out []Setting, prefix string, v reflect.Value) []Setting {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("mapstructure")
		f, key := v.Field(i), join(prefix, tag)
		switch {
		case tag == "-" || prefix != "" && v.Type() == shareType && tag == "name":
		case f.Type() == sharesType:
			for j := range f.Len() {
				s := f.Index(j)
				out = settings(out, join(key, s.FieldByName("Name").String()), s)
			}
		case f.Kind() == reflect.Struct:
			out = settings(out, key, f)
		case f.Kind() == reflect.Slice:
			words := make([]string, f.Len())
			for j := range words {
				words[j] = fmt.Sprint(f.Index(j))
			}
			out = append(out, Setting{key, "[" + strings.Join(words, ", ") + "]"})
		default:
			s := fmt.Sprint(f)
			if key == "log.level" {
				s = strings.ToLower(s)
			}
			out = append(out, Setting{key, s})
		}
	}
	return out
}

// Reloadable reports whether a change of the key takes effect without a restart.
func Reloadable(key string) bool {
	return key == "allow" || strings.HasPrefix(key, "shares.") || strings.HasPrefix(key, "log.")
}

// Changed lists the keys whose values differ between two configurations, and those that only one of them has.
func Changed(old, new *Config) []string {
	was := map[string]string{}
	for _, s := range old.Settings() {
		was[s.Key] = s.Value
	}
	var keys []string
	for _, s := range new.Settings() {
		if v, ok := was[s.Key]; !ok || v != s.Value {
			keys = append(keys, s.Key)
		}
		delete(was, s.Key)
	}
	for _, s := range old.Settings() {
		if _, gone := was[s.Key]; gone {
			keys = append(keys, s.Key)
		}
	}
	return keys
}
