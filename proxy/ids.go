package proxy

import "encoding/json"

// idKey is the raw text of a JSON-RPC id in a form that a map takes without an
// allocation. 1, 1.0 and "1" are different ids, and a quoted UUID fits.
type idKey struct {
	n uint8
	b [39]byte
}

// idTable maps the raw text of ids to requests. An id that is in use twice at a
// time, which JSON-RPC forbids and some peers do, is answered in order.
type idTable[T any] struct {
	short map[idKey]idEntry[T]
	long  map[string]idEntry[T]
	n     int
}

type idEntry[T any] struct {
	first T
	more  []T
}

func newIDTable[T any]() idTable[T] {
	return idTable[T]{short: map[idKey]idEntry[T]{}, long: map[string]idEntry[T]{}}
}

func shortKey(id []byte) (idKey, bool) {
	var k idKey
	if len(id) > len(k.b) {
		return k, false
	}
	k.n = uint8(copy(k.b[:], id))
	return k, true
}

func (t *idTable[T]) entry(id []byte) (idEntry[T], bool) {
	if k, ok := shortKey(id); ok {
		e, ok := t.short[k]
		return e, ok
	}
	e, ok := t.long[string(id)]
	return e, ok
}

func (t *idTable[T]) set(id []byte, e idEntry[T]) {
	if k, ok := shortKey(id); ok {
		t.short[k] = e
		return
	}
	t.long[string(id)] = e
}

func (t *idTable[T]) clear(id []byte) {
	if k, ok := shortKey(id); ok {
		delete(t.short, k)
		return
	}
	delete(t.long, string(id))
}

// get is the oldest entry with this id.
func (t *idTable[T]) get(id []byte) (T, bool) {
	e, ok := t.entry(id)
	return e.first, ok
}

// find is the oldest entry with this id for which is reports true.
func (t *idTable[T]) find(id []byte, is func(T) bool) (v T, ok bool) {
	e, ok := t.entry(id)
	if !ok {
		return v, false
	}
	if is(e.first) {
		return e.first, true
	}
	for _, x := range e.more {
		if is(x) {
			return x, true
		}
	}
	return v, false
}

func (t *idTable[T]) put(id []byte, v T) {
	t.n++
	e, ok := t.entry(id)
	if ok {
		e.more = append(e.more, v)
	} else {
		e.first = v
	}
	t.set(id, e)
}

// drop takes the entry out for which is reports true.
func (t *idTable[T]) drop(id []byte, is func(T) bool) {
	e, ok := t.entry(id)
	if !ok {
		return
	}
	if is(e.first) {
		t.n--
		if len(e.more) == 0 {
			t.clear(id)
			return
		}
		e.first, e.more = e.more[0], e.more[1:]
		t.set(id, e)
		return
	}
	for i, v := range e.more {
		if is(v) {
			t.n--
			e.more = append(e.more[:i:i], e.more[i+1:]...)
			t.set(id, e)
			return
		}
	}
}

// all is every entry, in no order.
func (t *idTable[T]) all() []T {
	list := make([]T, 0, t.n)
	for _, e := range t.short {
		list = append(append(list, e.first), e.more...)
	}
	for _, e := range t.long {
		list = append(append(list, e.first), e.more...)
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
