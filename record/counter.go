package record

import "strconv"

// counter writes the beginning of a line, its seq and its time. Seqs mostly follow one
// another, and the frames of a read have one time: so it counts in decimal digits, and
// keeps the text of a time.
type counter struct {
	seq    uint64 // in digits, where there are any
	digits []byte
	t      int64 // in time
	time   []byte
}

func (c *counter) append(b []byte, seq uint64, t int64) []byte {
	if len(c.digits) > 0 && seq == c.seq+1 && seq > 0 {
		c.next()
	} else if len(c.digits) == 0 || seq != c.seq {
		c.digits = strconv.AppendUint(c.digits[:0], seq, 10)
	}
	if len(c.time) == 0 || t != c.t {
		c.time = strconv.AppendInt(c.time[:0], t, 10)
	}
	c.seq, c.t = seq, t
	b = append(b, `{"seq":`...)
	b = append(b, c.digits...)
	b = append(b, `,"t":`...)
	return append(b, c.time...)
}

// next adds one.
func (c *counter) next() {
	for i := len(c.digits) - 1; i >= 0; i-- {
		if c.digits[i]++; c.digits[i] <= '9' {
			return
		}
		c.digits[i] = '0'
	}
	c.digits = append(c.digits, 0)
	copy(c.digits[1:], c.digits)
	c.digits[0] = '1'
}
