package agent

import (
	"bytes"
	"encoding/binary"
)

// environOfProcArgs takes the environment out of what darwin's KERN_PROCARGS2
// answers: the number of arguments as a native 32-bit integer (both darwin
// machines are little-endian), the program's path, NUL bytes up to the first
// argument, the arguments, the variables, all ended by NUL.
func environOfProcArgs(b []byte) []byte {
	if len(b) < 4 {
		return nil
	}
	argc := binary.LittleEndian.Uint32(b)
	b = b[4:]
	i := bytes.IndexByte(b, 0)
	if i < 0 {
		return nil
	}
	b = bytes.TrimLeft(b[i:], "\x00")
	for range argc {
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			return nil
		}
		b = b[i+1:]
	}
	return b
}

// commandOfProcArgs takes the program and its arguments out of the same.
func commandOfProcArgs(b []byte) []string {
	rest := environOfProcArgs(b)
	if len(b) < 4 || rest == nil {
		return nil
	}
	args := b[4 : len(b)-len(rest)]
	if i := bytes.IndexByte(args, 0); i >= 0 {
		args = bytes.TrimLeft(args[i:], "\x00") // the path that was executed
	}
	var words []string
	for len(args) > 0 {
		var word []byte
		word, args, _ = bytes.Cut(args, []byte{0})
		words = append(words, string(word))
	}
	return words
}
