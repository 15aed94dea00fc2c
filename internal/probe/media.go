package probe

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"sync"
)

// twoTone is an image of two halves, red above blue: the one that the reference
// was made with (seed, phase 2).
var twoTone = sync.OnceValue(func() []byte {
	const size = 64
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		c := color.RGBA{R: 255, A: 255}
		if y >= size/2 {
			c = color.RGBA{B: 255, A: 255}
		}
		for x := range size {
			img.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // into memory it cannot fail
	return b.Bytes()
})

// tone is half a second of 440 Hz, mono, 8 kHz, 16 bits, as a WAV file.
var tone = sync.OnceValue(func() []byte {
	const rate, n = 8000, 4000
	var b bytes.Buffer
	le := binary.LittleEndian
	b.WriteString("RIFF")
	b.Write(le.AppendUint32(nil, 36+2*n))
	b.WriteString("WAVEfmt ")
	for _, v := range []uint32{16, 1 | 1<<16, rate, 2 * rate, 2 | 16<<16} { // PCM, one channel; bytes a block, bits
		b.Write(le.AppendUint32(nil, v))
	}
	b.WriteString("data")
	b.Write(le.AppendUint32(nil, 2*n))
	for i := range n {
		b.Write(le.AppendUint16(nil, uint16(int16(12000*math.Sin(2*math.Pi*440*float64(i)/rate)))))
	}
	return b.Bytes()
})

func imageBlock() string {
	return `{"type":"image","mimeType":"image/png","data":"` + base64.StdEncoding.EncodeToString(twoTone()) + `"}`
}

func audioBlock() string {
	return `{"type":"audio","mimeType":"audio/wav","data":"` + base64.StdEncoding.EncodeToString(tone()) + `"}`
}

func resourceBlock() string {
	return `{"type":"resource","resource":{"uri":"file:///probe/secret.txt","mimeType":"text/plain","text":"The secret word is ` + secretWord + `."}}`
}
