package record

// shape is a kind of secret that is known wherever it stands by how it looks.
type shape struct {
	prefix string
	// min is the least number of bytes after the prefix, all of chars.
	min   int
	chars charset
	// mixed asks for a digit or a capital letter among them: "sk-circle-fade-dot"
	// is a class of a spinner.
	mixed bool
}

type charset uint8

const (
	isAlnum charset = 1 << iota
	isUpper         // capitals and digits
	isWord          // letters, digits, - and _
	isDot
	isBase64 // letters, digits, +, / and =
	isDigitOrCapital
)

var chars = func() (t [256]charset) {
	for c := range 256 {
		lower, upper, digit := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
		if lower || upper || digit {
			t[c] |= isAlnum | isWord | isBase64
		}
		if upper || digit {
			t[c] |= isUpper | isDigitOrCapital
		}
	}
	t['-'] |= isWord
	t['_'] |= isWord
	t['.'] |= isDot
	t['+'] |= isBase64
	t['/'] |= isBase64
	t['='] |= isBase64
	return
}()

// shapes are documented by those who give the secrets out.
var shapes = []shape{
	{"sk-", 10, isWord, true},                                // OpenAI, Anthropic and many that copied them
	{"sk_live_", 10, isAlnum, false},                         // Stripe
	{"sk_test_", 10, isAlnum, false},                         //
	{"rk_live_", 10, isAlnum, false},                         //
	{"whsec_", 10, isBase64, false},                          //
	{"AIza", 20, isWord, false},                              // Google API key
	{"AQ.Ab", 20, isWord, false},                             // Google API key, newer
	{"ya29.", 8, isWord | isDot, false},                      // Google access token
	{"1//0", 10, isWord, false},                              // Google refresh token
	{"4/0A", 15, isWord, false},                              // Google authorization code
	{"GOCSPX-", 10, isWord, false},                           // Google client secret
	{"ghp_", 10, isAlnum, false},                             // GitHub
	{"gho_", 10, isAlnum, false},                             //
	{"ghu_", 10, isAlnum, false},                             //
	{"ghs_", 10, isAlnum, false},                             //
	{"ghr_", 10, isAlnum, false},                             //
	{"github_pat_", 10, isWord, false},                       //
	{"glpat-", 10, isWord, false},                            // GitLab
	{"npm_", 20, isAlnum, false},                             //
	{"pypi-", 20, isWord, true},                              //
	{"hf_", 16, isAlnum, true},                               // Hugging Face
	{"xoxa-", 8, isWord, false}, {"xoxb-", 8, isWord, false}, // Slack
	{"xoxe-", 8, isWord, false}, {"xoxp-", 8, isWord, false}, //
	{"xoxr-", 8, isWord, false}, {"xoxs-", 8, isWord, false}, //
	{"xoxc-", 8, isWord, false}, {"xoxd-", 8, isWord, false}, //
	{"xoxe.", 8, isWord | isDot, false}, {"xapp-", 8, isWord, false}, //
	{"AKIA", 16, isUpper, false}, {"ASIA", 16, isUpper, false}, // AWS
	{"eyJ", 6, isWord, false}, // JWT; see match
}

// windows are the windows of the sieve that every one of a shape has in it.
func (sh *shape) windows() []string {
	if len(sh.prefix) >= 4 {
		return []string{sh.prefix[len(sh.prefix)-4:]}
	}
	// What stands before it may be the letter of an escape, such as \n.
	return []string{" " + sh.prefix, "n" + sh.prefix, "r" + sh.prefix, "t" + sh.prefix, "b" + sh.prefix, "f" + sh.prefix,
		"m" + sh.prefix, "/" + sh.prefix, "." + sh.prefix}
}

// begin is where a secret of this shape begins whose window is at offset at.
func (sh *shape) begin(at int) int {
	return at - (len(sh.prefix) - 4)
}

// match returns the end of a secret of this shape that begins at b[i], or -1.
func (sh *shape) match(b []byte, i int) int {
	if i < 0 || len(b)-i < len(sh.prefix)+sh.min || string(b[i:i+len(sh.prefix)]) != sh.prefix || !wordStart(b, i) {
		return -1
	}
	start := i + len(sh.prefix)
	end, mixed := run(b, start, sh.chars)
	if end-start < sh.min || sh.mixed && !mixed {
		return -1
	}
	if sh.prefix == "eyJ" {
		// Three parts, the last of which may be missing or empty.
		if end >= len(b) || b[end] != '.' {
			return -1
		}
		payload, _ := run(b, end+1, isWord)
		if payload-end < 7 {
			return -1
		}
		end = payload
		if end < len(b) && b[end] == '.' {
			end, _ = run(b, end+1, isWord)
		}
	}
	if sh.chars&isDot != 0 {
		for b[end-1] == '.' {
			end-- // of a sentence
		}
	}
	return end
}

// run returns the end of the bytes of a set from i on, and whether a digit or a
// capital letter is among them.
func run(b []byte, i int, set charset) (end int, mixed bool) {
	for i < len(b) && chars[b[i]]&set != 0 {
		mixed = mixed || chars[b[i]]&isDigitOrCapital != 0
		i++
	}
	return i, mixed
}

// wordStart reports whether a word may begin at b[i]: what stands before it is
// no part of a word, or the letter of an escape, or the end of a terminal's
// colour sequence.
func wordStart(b []byte, i int) bool {
	if i == 0 || chars[b[i-1]]&isWord == 0 {
		return true
	}
	switch j := i - 2; b[i-1] {
	case 'n', 'r', 't', 'b', 'f':
		return j >= 0 && b[j] == '\\'
	case 'm':
		for j >= 0 && i-j < 16 && (b[j] == ';' || b[j] >= '0' && b[j] <= '9') {
			j--
		}
		return j >= 0 && b[j] == '['
	}
	return false
}
