package proxy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
)

// TestHasGone: a client that simply goes is no error, whichever system it goes on.
func TestHasGone(t *testing.T) {
	for _, err := range append(goneHere(), io.ErrClosedPipe, os.ErrClosed) {
		wrapped := fmt.Errorf("behind the reader: %w", &os.PathError{Op: "write", Path: "|1", Err: err})
		if !hasGone(err) || !hasGone(wrapped) {
			t.Errorf("%v is taken as an error", err)
		}
	}
	for _, err := range append(failsHere(), nil, io.ErrUnexpectedEOF, os.ErrPermission, errors.New("broken pipe")) {
		if hasGone(err) {
			t.Errorf("%v is taken as the client's end", err)
		}
	}
}
