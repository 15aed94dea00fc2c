package login

import (
	"bytes"
	"net/url"
	"strconv"
)

// Page is the address of a login page.
type Page struct {
	// URL is all of it, with what must not be kept: its query.
	URL string
	// Port is the loopback port that the page leads back to, 0 for none.
	Port int
}

// Bare is the address without its query, for logs.
func (p Page) Bare() string {
	u, err := url.Parse(p.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// maxURL is the longest address that is taken for one.
const maxURL = 8 << 10

var https = []byte("https://")

// maxAddresses is how many addresses of a line are looked at. An agent's line may be
// made of nothing else, and have megabytes.
const maxAddresses = 100

// Find finds a login page in a line of any text. A login page is an address with
// the query of an OAuth authorisation request (RFC 6749, 4.1.1; RFC 8252 for the
// loopback in it): agents print links of all kinds.
func Find(line []byte) (Page, bool) {
	for range maxAddresses {
		at := bytes.Index(line, https)
		if at < 0 {
			return Page{}, false
		}
		line = line[at:]
		end := 0
		for end < len(line) && end <= maxURL && inURL(line[end]) {
			end++
		}
		if p, ok := parse(line[:end]); ok {
			return p, true
		}
		line = line[len(https):]
	}
	return Page{}, false
}

// inURL tells the bytes that an address is written with (RFC 3986). A quote, a
// bracket or a control character ends it.
func inURL(b byte) bool {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		return true
	}
	return bytes.IndexByte([]byte("-._~:/?#@!$&*+,;=%"), b) >= 0
}

func parse(text []byte) (Page, bool) {
	text = bytes.TrimRight(text, ".,;:!?")
	if len(text) > maxURL || !bytes.Contains(text, []byte("redirect_uri=")) {
		return Page{}, false
	}
	u, err := url.Parse(string(text))
	if err != nil || u.Host == "" || u.User != nil {
		return Page{}, false
	}
	q := u.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("response_type") == "" || q.Get("client_id") == "" {
		return Page{}, false
	}
	p := Page{URL: string(text)}
	switch back.Hostname() {
	case "127.0.0.1", "localhost", "::1":
		if n, err := strconv.ParseUint(back.Port(), 10, 16); err == nil {
			p.Port = int(n)
		}
	}
	return p, true
}
