package record

import "bytes"

// secretLooks reports whether a word that something has announced, as vaguely as
// manuals do, can be nothing but a secret.
func secretLooks(v []byte) bool {
	return len(v) >= 16 && len(v) <= 8192 && bytes.IndexByte(v, ' ') < 0 && telling(v)
}

// minNumber is the least length of a number that is somebody's password and not a
// setting such as "password": 1.
const minNumber = 4

func isPassword(name []byte) bool {
	var buf [64]byte
	n := plainName(name, &buf)
	return endsIn(n, "password") || endsIn(n, "passwd") || endsIn(n, "passcode")
}

func isDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// colour passes over a terminal's colour sequence at b[i].
func colour(b []byte, i int) int {
	if i+1 >= len(b) || b[i] != 0x1b || b[i+1] != '[' {
		return i
	}
	for j := i + 2; j < len(b) && j-i < 16; j++ {
		if b[j] == 'm' {
			return j + 1
		}
		if b[j] != ';' && (b[j] < '0' || b[j] > '9') {
			break
		}
	}
	return i
}

// quotedSecret takes what stands between the quotes at b[i] if it looks like a
// secret.
func quotedSecret(b []byte, i int) (start, end int, ok bool) {
	start = i + 1
	for end = start; end < len(b) && !endsBare(b[end]); end++ {
	}
	return start, end, end < len(b) && b[end] == b[i] && secretLooks(b[start:end])
}

// afterName takes the value behind a name as people write it: "`api_key`: `...`".
// Since manuals have such as well, it must look like one.
func afterName(b []byte, i int) (start, end int, ok bool) {
	if i = spaces(b, i); i >= len(b) || b[i] != ':' && b[i] != '=' {
		return 0, 0, false
	}
	if i = spaces(b, i+1); i >= len(b) {
		return 0, 0, false
	}
	if isQuote(b[i]) {
		return quotedSecret(b, i)
	}
	for end = i; end < len(b) && !endsBare(b[end]); end++ {
	}
	for end > i && b[end-1] == '.' {
		end--
	}
	return i, end, secretLooks(b[i:end])
}

// spacedKey takes the value behind "API key", of which "key" is b[from:to].
func spacedKey(b []byte, from, to int) (start, end int, ok bool) {
	if from < 4 || !bytes.EqualFold(b[from:to], []byte("key")) || !bytes.EqualFold(b[from-4:from], []byte("api ")) || !wordStart(b, from-4) {
		return 0, 0, false
	}
	return afterName(b, to)
}

// element takes the text of an XML element whose name is b[from:to].
func element(b []byte, from, to int) (start, end int, ok bool) {
	if from == 0 || b[from-1] != '<' || to >= len(b) || b[to] != '>' {
		return 0, 0, false
	}
	start = to + 1
	for end = start; end < len(b) && b[end] != '<' && b[end] != '\n'; end++ {
	}
	closed := bytes.HasPrefix(b[end:], []byte("</")) && bytes.HasPrefix(b[end+2:], b[from:to])
	return start, end, closed && end > start && !isVariable(b[start:end])
}

// netrc takes the word behind "machine HOST login NAME password", where b[from:to] is the last
// of these.
func netrc(b []byte, from, to int) (start, end int, ok bool) {
	_, before := lastWord(b[max(0, from-256):from])
	login, before := lastWord(before)
	host, before := lastWord(before)
	machine, _ := lastWord(before)
	if string(login) != "login" || string(machine) != "machine" && string(host) != "default" {
		return 0, 0, false // "login with password ..."
	}
	start = spaces(b, to)
	for end = start; end < len(b) && b[end] > ' ' && b[end] != '"' && b[end] != '\\'; end++ {
	}
	return start, end, start > to && end > start && looksSecret(b[start:end])
}

// lastWord cuts the last word off.
func lastWord(b []byte) (word, before []byte) {
	b = bytes.TrimRight(b, " \t\r\n")
	n := bytes.LastIndexAny(b, " \t\r\n") + 1
	return b[n:], b[:n]
}

// curlUser takes the password behind curl's flag -u, of which the window " -u "
// was found.
func curlUser(b []byte, at int) (start, end int, ok bool) {
	if at < 0 || at+4 > len(b) || string(b[at:at+3]) != " -u" {
		return 0, 0, false
	}
	line := b[max(0, at-256):at]
	line = line[bytes.LastIndexAny(line, "\n;|&")+1:] // the command
	if !bytes.Contains(line, []byte("curl")) {
		return 0, 0, false
	}
	i := spaces(b, at+3)
	for i < len(b) && (b[i] == '\\' || b[i] == '"' || b[i] == '\'') {
		i++
	}
	for end = i; end < len(b) && !endsBare(b[end]); end++ {
		if b[end] == ':' && start == 0 {
			start = end + 1
		}
	}
	return start, end, start > i+1 && end > start && looksSecret(b[start:end])
}
