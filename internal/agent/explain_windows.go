package agent

import (
	"errors"
	"io/fs"
)

func explain(s Spec, err error) error {
	words := err.Error()
	var pe *fs.PathError
	if errors.As(err, &pe) {
		words = pe.Err.Error()
	}
	return &StartError{Path: s.Path, Words: words, Err: err}
}
