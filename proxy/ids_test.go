package proxy

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// TestIDTable holds it against a plain list: few ids and many, in use once and often,
// answered in any order.
func TestIDTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, ids := range []int{1, 3, 40} {
		type entry struct{ id, n int }
		var table idTable[int]
		var list []entry
		at := func(id int, is func(int) bool) int {
			return slices.IndexFunc(list, func(e entry) bool { return e.id == id && is(e.n) })
		}
		for n := range 5000 {
			id := rng.IntN(ids)
			text := []byte(strconv.Itoa(id))
			odd := func(n int) bool { return n%2 == 1 }
			if rng.IntN(2) == 0 {
				odd = func(int) bool { return true }
			}
			if len(list) < 30 && rng.IntN(100) < 55 {
				table.put(text, n)
				list = append(list, entry{id, n})
			}
			i := at(id, odd)
			v, ok := table.find(text, odd)
			if ok != (i >= 0) || ok && v != list[i].n {
				t.Fatalf("%d ids: id %d is %d %v, and not at %d of %v", ids, id, v, ok, i, list)
			}
			if rng.IntN(2) == 0 {
				table.drop(text, odd)
				if i >= 0 {
					list = slices.Delete(list, i, i+1)
				}
			}
			if all := table.all(); table.n != len(list) || len(all) != len(list) {
				t.Fatalf("%d ids: %d entries, %d in all, and not %d", ids, table.n, len(all), len(list))
			}
		}
	}
}
