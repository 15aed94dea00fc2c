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
