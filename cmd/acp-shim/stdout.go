package main

import (
	"os"
	"strings"
	"sync"
)

// stdout is where the commands print. The streams of a protocol are not for it.
var stdout = &printer{f: os.Stdout}

// printer remembers that something could not be written: of what is printed line by
// line nobody looks at each error, and a command must not end well when its answer is
// not where it should be.
type printer struct {
	f *os.File

	mu  sync.Mutex
	err error
}

func (p *printer) Write(b []byte) (int, error) {
	n, err := p.f.Write(b)
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.err == nil {
			p.err = err
		}
	}
	return n, err
}

// Fd is for those who ask whether it is a terminal.
func (p *printer) Fd() uintptr { return p.f.Fd() }

// end gives the first error there was, once.
func (p *printer) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.err
	p.err = nil
	return err
}

// causes tells an error that says no more than what end will give.
func (p *printer) causes(err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err != nil && strings.Contains(err.Error(), p.err.Error())
}
