//go:build unix

package agent

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
)

// image is what the beginning of a file tells about how it would be executed.
type image struct {
	size        int64
	script      bool
	interpreter string // of a script its program, of an ELF file its loader
	cr          bool   // the script's first line ends in CR LF
	system      string // "Linux" (or another that uses ELF), "macOS", "Windows"; a script has ours
	arch        string // as GOARCH names it
	guess       string // what else it may be, in parentheses
}

// hostSystem is this system's name as image gives it; all but one use ELF.
func hostSystem() string {
	if runtime.GOOS == "darwin" {
		return "macOS"
	}
	return "Linux"
}

func hostArch() string { return runtime.GOARCH }

func readImage(path string) image {
	f, err := os.Open(path)
	if err != nil {
		return image{size: -1}
	}
	defer f.Close()
	im := image{size: -1}
	if st, err := f.Stat(); err == nil {
		im.size = st.Size()
	}
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("#!")):
		im.system = hostSystem()
		im.script = true
		line, _, _ := bytes.Cut(head[2:], []byte("\n"))
		im.cr = bytes.HasSuffix(line, []byte("\r"))
		if words := strings.Fields(string(line)); len(words) > 0 {
			im.interpreter = words[0]
		}
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		im.system = "Linux"
		im.readELF(f)
	case len(head) >= 8 && slices.Contains(machoMagics(), binary.LittleEndian.Uint32(head)):
		im.system = "macOS"
		im.readMachO(f)
	case bytes.HasPrefix(head, []byte("MZ")):
		im.system = "Windows"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		im.guess = " (it is a zip archive: unpack it)"
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		im.guess = " (it is a gzip archive: unpack it)"
	case bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(head)), []byte("<")):
		im.guess = " (it looks like a web page: a failed download?)"
	}
	return im
}

// crHint names a mistake that is hard to see: the system takes the CR for a
// part of the interpreter's name.
func (im image) crHint() string {
	if im.cr {
		return " (its first line ends in CR LF: save it with Unix line ends)"
	}
	return ""
}

func (im *image) readELF(f io.ReaderAt) {
	e, err := elf.NewFile(f)
	if err != nil {
		im.guess = fmt.Sprintf(" (%v)", err)
		return
	}
	im.arch = elfArch(e.Machine)
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < 4096 {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err == nil {
				im.interpreter = string(bytes.TrimRight(b, "\x00"))
			}
		}
	}
}

func elfArch(m elf.Machine) string {
	switch m {
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_386:
		return "386"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_RISCV:
		return "riscv64"
	case elf.EM_PPC64:
		return "ppc64le"
	case elf.EM_S390:
		return "s390x"
	case elf.EM_LOONGARCH:
		return "loong64"
	}
	return strings.TrimPrefix(m.String(), "EM_")
}

// machoMagics are those of one program, in both byte orders, and of a file with
// programs for several processors.
func machoMagics() []uint32 {
	return []uint32{macho.Magic64, macho.Magic32, 0xcffaedfe, 0xcefaedfe, 0xbebafeca}
}

func (im *image) readMachO(f io.ReaderAt) {
	m, err := macho.NewFile(f)
	if err != nil {
		return
	}
	switch m.Cpu {
	case macho.CpuAmd64:
		im.arch = "amd64"
	case macho.CpuArm64:
		im.arch = "arm64"
	}
}
