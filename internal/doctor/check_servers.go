package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// dialPatience is how long a server may take to accept a connection, and
	// serversMax how many are looked at.
	dialPatience = time.Second
	serversMax   = 50
)

// servers looks whether something listens where the settings say, and sends it
// nothing: neither a request nor a secret.
func (x *Exam) servers() []Finding {
	if x.ServersErr != nil {
		return one(problem("%s", x.ServersErr).remedy("correct it: the shim does not start with it"))
	}
	if len(x.Servers) == 0 {
		return one(ok("the settings inject none"))
	}
	list := x.Servers[:min(len(x.Servers), serversMax)]
	all := make([]Finding, len(list))
	var wg sync.WaitGroup
	for i, s := range list {
		wg.Go(func() { all[i] = x.server(s) })
	}
	wg.Wait()
	if n := len(x.Servers) - len(list); n > 0 {
		all = append(all, warning("%d more servers were not looked at", n))
	}
	return all
}

func (x *Exam) server(s Server) Finding {
	if s.URL == "" {
		return x.stdioServer(s)
	}
	addr, err := address(s.URL)
	if err != nil {
		return problem("%s: %s", s.Name, err).remedy("correct its url")
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialPatience)
	defer cancel()
	if err := x.Dial(ctx, addr); err != nil {
		return warning("%s: nothing answers at %s (%s)", s.Name, addr, reason(err)).
			remedy("start it, or correct its url; the agent takes a dead one, and its tools are missing")
	}
	return ok("%s: something listens at %s", s.Name, addr)
}

func reason(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err):
		return fmt.Sprintf("no answer within %v", dialPatience)
	case errors.As(err, &dns):
		return "there is no such host"
	}
	return "it cannot be reached"
}

// address is the host and port of a url, and nothing else of it: the rest may hold a
// secret.
func address(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("its url is not one that begins with http:// or https:// and names a host")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

func (x *Exam) stdioServer(s Server) Finding {
	name := s.Command
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(x.home(), rest)
	}
	if name == "" {
		return problem("%s: it has neither a command nor a url", s.Name).remedy("correct its entry")
	}
	if _, err := x.LookPath(name); err != nil {
		return warning("%s: its command %s cannot be started (not found, or not executable)", s.Name, filepath.Base(name)).
			remedy("install it, or name it by its whole path")
	}
	return ok("%s: its command %s is there", s.Name, filepath.Base(name))
}
