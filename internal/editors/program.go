package editors

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
)

// The clients whose configuration is a program: it is shown what to put there.

func codecompanion() *Client {
	return &Client{
		Name: "codecompanion", Title: "codecompanion.nvim",
		Check:   ":CodeCompanionChat adapter=NAME",
		found:   plugin("codecompanion.nvim"),
		texts:   nvimTexts,
		where:   "into your Neovim configuration (with lazy.nvim: the table goes into opts)",
		snippet: codecompanionSnippet,
	}
}

func codecompanionSnippet(r Request) string {
	name := cmp.Or(r.Name, "antigravity")
	return `require("codecompanion").setup({
  adapters = {
    acp = {
      ` + luaKey(name) + ` = function()
        -- A preset that asks for no key; the login is acp-shim login's.
        return require("codecompanion.adapters").extend("opencode", {
          name = ` + luaString(name) + `,
          formatted_name = "Antigravity",
          commands = {
            default = { ` + luaList(r.argv()) + ` },
          },
        })
      end,
    },
  },
  interactions = {
    chat = { adapter = ` + luaString(name) + ` },
  },
})
`
}

func avante() *Client {
	return &Client{
		Name: "avante", Title: "avante.nvim",
		Check: ":AvanteAsk hello",
		found: plugin("avante.nvim"),
		texts: nvimTexts,
		where: "into your Neovim configuration (with lazy.nvim: the table goes into opts)",
		snippet: func(r Request) string {
			name, argv := cmp.Or(r.Name, "antigravity"), r.argv()
			return `require("avante").setup({
  provider = ` + luaString(name) + `,
  acp_providers = {
    [` + luaString(name) + `] = {
      command = ` + luaString(argv[0]) + `,
      args = { ` + luaList(argv[1:]) + ` },
      -- avante passes little more than PATH on.
      env = { HOME = os.getenv("HOME") },
    },
  },
})
`
		},
	}
}

func emacs() *Client {
	return &Client{
		Name: "emacs", Title: "Emacs (agent-shell)",
		Check: "M-x agent-shell-antigravity-start-agent",
		found: func(m Machine) string {
			dirs := []string{m.home(".emacs.d"), m.config("emacs"), m.config("doom")}
			for _, d := range dirs[:2] {
				if p := m.glob(filepath.Join(d, "elpa", "agent-shell-*"), filepath.Join(d, "straight", "repos", "agent-shell"),
					filepath.Join(d, ".local", "straight", "repos", "agent-shell"), filepath.Join(d, "elpaca", "repos", "agent-shell")); p != "" {
					return p
				}
			}
			for _, d := range append(dirs, m.home(".emacs")) {
				if isThere(d) {
					return d
				}
			}
			return m.program("emacs")
		},
		texts: func(m Machine) []string {
			return []string{m.home(".emacs"), m.home(".emacs.d", "init.el"), m.config("emacs", "init.el"), m.config("doom", "config.el")}
		},
		where: "into your init.el; agent-shell has to be one that knows Antigravity",
		snippet: func(r Request) string {
			var words []string
			for _, w := range r.argv() {
				words = append(words, lispString(w))
			}
			return `(with-eval-after-load 'agent-shell-antigravity
  (setq agent-shell-antigravity-acp-command
        (list ` + strings.Join(words, " ") + `)))
`
		},
	}
}

// plugin finds a Neovim plugin where the usual managers put it.
func plugin(name string) func(Machine) string {
	return func(m Machine) string {
		data, config := m.nvimData(), m.nvimConfig()
		if data == "" {
			return ""
		}
		return m.glob(filepath.Join(data, "lazy", name), filepath.Join(data, "site", "pack", "*", "*", name),
			filepath.Join(data, "plugged", name), filepath.Join(config, "pack", "*", "*", name))
	}
}

func nvimTexts(m Machine) []string {
	dir := m.nvimConfig()
	if dir == "" {
		return nil
	}
	var list []string
	for _, p := range []string{"init.lua", "init.vim", "lua/*.lua", "lua/*/*.lua", "lua/*/*/*.lua", "after/plugin/*.lua", "plugin/*.lua"} {
		found, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(p)))
		list = append(list, found...)
	}
	return list
}

// luaKey is a name as a table's key.
func luaKey(name string) string {
	plain := strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
	if plain {
		return name
	}
	return "[" + luaString(name) + "]"
}

func luaList(words []string) string {
	var list []string
	for _, w := range words {
		list = append(list, luaString(w))
	}
	return strings.Join(list, ", ")
}

// luaString quotes for Lua, which takes \ddd for a byte in every version.
func luaString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03d`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// lispString quotes for Emacs Lisp, which needs only these two escaped.
func lispString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
