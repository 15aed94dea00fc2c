package proxy

import (
	"bytes"
	"encoding/json"
	"slices"
)

// idTable maps the raw text of ids to requests: 1, 1.0 and "1" are different ids. An
// id that is in use twice at a time, which JSON-RPC forbids and some peers do, is
// answered in order.
//
// A handful of requests are open at a time, nearly always; those are looked through,
// which takes less than a map's hash.
type idTable[T any] struct {
	few  []idRow[T]     // in the order in which they came
	many map[string][]T // what does not go into few; for one id, all of it came later
	n    int
}

type idRow[T any] struct {
	id []byte
	v  T
}

// fewIDs is how many entries are looked through.
const fewIDs = 12

// get is the oldest entry with this id.
func (t *idTable[T]) get(id []byte) (v T, ok bool) {
	return t.find(id, func(T) bool { return true })
}

// find is the oldest entry with this id for which is reports true.
func (t *idTable[T]) find(id []byte, is func(T) bool) (v T, ok bool) {
	for i := range t.few {
		if r := &t.few[i]; bytes.Equal(r.id, id) && is(r.v) {
			return r.v, true
		}
	}
	if len(t.many) > 0 {
		for _, x := range t.many[string(id)] {
			if is(x) {
				return x, true
			}
		}
	}
	return v, false
}

// put adds an entry; id must stay as it is while that is in the table.
func (t *idTable[T]) put(id []byte, v T) {
	t.n++
	if len(t.few) < fewIDs && len(t.many[string(id)]) == 0 {
		t.few = append(t.few, idRow[T]{id, v})
		return
	}
	if t.many == nil {
		t.many = map[string][]T{}
	}
	t.many[string(id)] = append(t.many[string(id)], v)
}

// drop takes the oldest entry out for which is reports true.
func (t *idTable[T]) drop(id []byte, is func(T) bool) {
	for i := range t.few {
		if r := &t.few[i]; bytes.Equal(r.id, id) && is(r.v) {
			t.n--
			t.few = slices.Delete(t.few, i, i+1)
			return
		}
	}
	if len(t.many) == 0 {
		return
	}
	list := t.many[string(id)]
	at := slices.IndexFunc(list, is)
	if at < 0 {
		return
	}
	t.n--
	switch {
	case len(list) == 1:
		delete(t.many, string(id))
	case at == 0:
		var none T
		list[0] = none
		t.many[string(id)] = list[1:]
	default:
		t.many[string(id)] = slices.Delete(list, at, at+1)
	}
}

// all is every entry, in no order.
func (t *idTable[T]) all() []T {
	list := make([]T, 0, t.n)
	for _, r := range t.few {
		list = append(list, r.v)
	}
	for _, more := range t.many {
		list = append(list, more...)
	}
	return list
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(b)
}
