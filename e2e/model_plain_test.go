//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"image/png"
	"regexp"
	"strconv"
	"strings"
)

// plain answers the sentences of acp-shim probe as a model does that follows them,
// with the tools that it is told of.
func (q question) plain() (parts []part, ok bool) {
	last := q.Contents[len(q.Contents)-1]
	for _, p := range last.Parts {
		if p.FunctionResponse != nil && strings.Contains(p.FunctionResponse.Name, "probe_image") {
			return say(q.colours()), true
		}
	}
	ask := q.asked()
	line, _, _ := strings.Cut(ask, "\n")
	rest := func(prefix string) (string, bool) { return strings.CutPrefix(line, prefix) }
	for _, p := range last.Parts {
		if p.FunctionResponse != nil {
			return nil, false
		}
	}
	if text, ok := rest("Reply with exactly: "); ok {
		text, _, _ = strings.Cut(text, ". ")
		return say(text + "."), true
	}
	if text, ok := rest("Write the numbers from 1 to "); ok {
		n, _ := strconv.Atoi(strings.Split(text, ",")[0]) // 0 is no text at all, and the test says so
		for i := 1; i <= n; i++ {
			parts = append(parts, part{Text: fmt.Sprintf("%d\n", i)})
		}
		return parts, n > 0
	}
	if text, ok := rest("Create the file "); ok {
		name, text, _ := strings.Cut(text, " with the content: ")
		return q.call("write_file", map[string]any{"file_path": q.dir() + "/" + name, "content": text + "\n"}), true
	}
	if name, ok := rest("Read the file "); ok {
		return q.call("read_file", map[string]any{"file_path": q.dir() + "/" + name}), true
	}
	if command, ok := rest("Run the shell command: "); ok {
		return q.call("run_shell_command", map[string]any{"command": command, "description": "as asked"}), true
	}
	if text, ok := rest("Call the tool "); ok {
		name, text, _ := strings.Cut(text, " of the MCP server ")
		args := map[string]any{}
		if _, text, ok := strings.Cut(text, " with the text "); ok {
			args["text"] = text
		}
		return q.call(name, args), true
	}
	switch {
	case strings.HasPrefix(line, "Remember the word "):
		return say("OK"), true
	case strings.HasPrefix(line, "Which word did I ask you"):
		return say(q.find(`Remember the word (\w+)`)), true
	case strings.HasPrefix(line, "Which colour is"):
		return say(q.colours() + " " + q.find(`secret word is (\w+)`)), true
	case strings.HasPrefix(line, "What is the secret word"):
		return say(q.find(`secret word is (\w+)`)), true
	case strings.HasPrefix(line, "Which model are you"):
		return say("gemini-2.5-flash"), true
	case strings.HasPrefix(line, "What do you hear"):
		return say("A tone."), true
	}
	return nil, false
}

func say(text string) []part { return []part{{Text: text}} }

// asked is the text of the last sentence that the model knows. A resource may
// stand before it, or behind.
func (q question) asked() (text string) {
	known := regexp.MustCompile(`(Reply with exactly: |Write the numbers|Create the file|Read the file|Run the shell|Call the tool|Remember the word|Which (word|colour|model)|What (do you|is the secret))`)
	for _, c := range q.Contents {
		for _, p := range c.Parts {
			if at := known.FindStringIndex(p.Text); at != nil && c.Role == "user" {
				text = p.Text[at[0]:]
			}
		}
	}
	return text
}

// call calls the tool whose name ends in this, as MCP tools have their server's
// name before it.
func (q question) call(name string, args map[string]any) []part {
	for _, t := range q.Tools {
		for _, f := range t.FunctionDeclarations {
			if strings.HasSuffix(f.Name, name) {
				p := part{}
				p.FunctionCall = &struct {
					Name string         `json:"name"`
					Args map[string]any `json:"args"`
				}{f.Name, args}
				return []part{p}
			}
		}
	}
	return say("There is no tool " + name + ".")
}

// find is the last text in the whole conversation that matches.
func (q question) find(pattern string) (found string) {
	re := regexp.MustCompile(pattern)
	for _, c := range q.Contents {
		for _, p := range c.Parts {
			for _, m := range re.FindAllStringSubmatch(p.Text, -1) {
				found = m[1]
			}
		}
	}
	return found
}

// dir is the session's directory, which the client of the model tells it.
func (q question) dir() string { return q.find(`(/[^\s"']*acp-shim-probe-\d+/s\d+)`) }

// colours are those of the last image.
func (q question) colours() string {
	text := "There is no image."
	for _, c := range q.Contents {
		for _, p := range c.Parts {
			if p.InlineData == nil {
				continue
			}
			img, err := png.Decode(bytes.NewReader(p.InlineData.Data))
			if err != nil {
				text = err.Error()
				continue
			}
			name := func(x, y int) string {
				if r, _, b, _ := img.At(x, y).RGBA(); r > b {
					return "red"
				}
				return "blue"
			}
			end := img.Bounds().Max
			text = "Above " + name(0, 0) + ", below " + name(end.X-1, end.Y-1) + "."
		}
	}
	return text
}
