package lock_test

import (
	"fmt"
	"testing"

	"fileserver/vfs/lock"

	"pgregory.net/rapid"
)

// byteModel has the locks of each byte of a small file; the last byte stands for all that follow it.
type byteModel [32]map[string]bool // owner → exclusive

func (b *byteModel) conflict(o string, r lock.Range, exclusive bool) bool {
	for i := r.Off; i <= b.last(r); i++ {
		for other, ex := range b[i] {
			if other != o && (exclusive || ex) {
				return true
			}
		}
	}
	return false
}

func (b *byteModel) last(r lock.Range) uint64 {
	if r.Len == lock.ToEnd {
		return uint64(len(b)) - 1
	}
	return r.Off + r.Len - 1
}

// want returns the locks of an owner as the Manager lists them: maximal runs of one kind.
func (b *byteModel) want(o string) (all []string) {
	for i := 0; i < len(b); {
		ex, ok := b[i][o]
		if !ok {
			i++
			continue
		}
		k := i
		for k+1 < len(b) {
			if e, ok := b[k+1][o]; !ok || e != ex {
				break
			}
			k++
		}
		c := lock.Conflict{Owner: owner(o), Range: rng(uint64(i), uint64(k-i+1)), Exclusive: ex}
		if k == len(b)-1 {
			c.Range.Len = lock.ToEnd
		}
		all = append(all, show(&c))
		i = k + 1
	}
	return all
}

// TestModel runs random programs against a model that knows the locks of each byte.
func TestModel(t *testing.T) {
	owners := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		m := lock.New()
		var model byteModel
		for i := range model {
			model[i] = map[string]bool{}
		}
		draw := func() (string, lock.Range) {
			o := rapid.SampledFrom(owners).Draw(t, "owner")
			off := rapid.Uint64Range(0, uint64(len(model))-1).Draw(t, "off")
			if off == uint64(len(model))-1 || rapid.IntRange(0, 4).Draw(t, "to end") == 0 {
				return o, rng(off, lock.ToEnd)
			}
			return o, rng(off, rapid.Uint64Range(1, uint64(len(model))-1-off).Draw(t, "len"))
		}
		t.Repeat(map[string]func(*rapid.T){
			"lock": func(t *rapid.T) {
				o, r := draw()
				ex := rapid.Bool().Draw(t, "exclusive")
				want := model.conflict(o, r, ex)
				test := m.Test(key(1), owner(o), r, ex)
				got := m.Lock(key(1), owner(o), r, ex)
				if (got != nil) != want || (test != nil) != want {
					t.Fatalf("conflict %v, and by Test %v; want %v", got, test, want)
				}
				if want {
					if got.Owner.ID == o || !ex && !got.Exclusive || got.Range.Off > model.last(r) || model.last(got.Range) < r.Off {
						t.Fatalf("%v is in the way of nothing", show(got))
					}
					return
				}
				for i := r.Off; i <= model.last(r); i++ {
					model[i][o] = ex
				}
			},
			"unlock": func(t *rapid.T) {
				o, r := draw()
				m.Unlock(key(1), owner(o), r)
				for i := r.Off; i <= model.last(r); i++ {
					delete(model[i], o)
				}
			},
			"release": func(t *rapid.T) {
				o, _ := draw()
				m.ReleaseOwner(owner(o))
				for i := range model {
					delete(model[i], o)
				}
			},
			"": func(t *rapid.T) {
				got := map[string][]string{}
				for _, c := range m.Locks(key(1)) {
					got[c.Owner.ID] = append(got[c.Owner.ID], show(&c))
				}
				total := 0
				for _, o := range owners {
					want := model.want(o)
					total += len(want)
					if fmt.Sprint(got[o]) != fmt.Sprint(want) {
						t.Fatalf("%s holds %v, want %v", o, got[o], want)
					}
					if m.Held(key(1), owner(o)) != (len(want) > 0) || m.HeldAnywhere(owner(o)) != (len(want) > 0) {
						t.Fatalf("Held of %s is wrong", o)
					}
				}
				if c := m.Counts(); c.Locks != total || c.Files != min(total, 1) {
					t.Fatalf("%+v with %d locks", c, total)
				}
			},
		})
	})
}
