package agent

import "os"

// pipes are the three pipes of a child: the shim's ends by name, the child's
// in the order of its descriptors.
type pipes struct {
	stdin, stdout, stderr *os.File
	child                 [3]*os.File
}

// newPipes makes them with os.Pipe, not with exec.Cmd's StdoutPipe, which Wait
// closes under its reader.
func newPipes() (*pipes, error) {
	p := &pipes{}
	for i, own := range []**os.File{&p.stdin, &p.stdout, &p.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, err
		}
		if i == 0 {
			p.child[i], *own = r, w
		} else {
			p.child[i], *own = w, r
		}
		// The two ends of a pipe are separate open files, so that the child's
		// can block while the shim's does not.
		if err := setBlocking(p.child[i]); err != nil {
			p.close()
			return nil, err
		}
	}
	enlarge(p.stdin)
	enlarge(p.stdout)
	return p, nil
}

func (p *pipes) closeChild() {
	for _, f := range p.child {
		if f != nil {
			f.Close()
		}
	}
}

func (p *pipes) close() {
	p.closeChild()
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
}
