//go:build tools

package deps

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/coder/acp-go-sdk"
	_ "github.com/fsnotify/fsnotify"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/lmittmann/tint"
	_ "github.com/modelcontextprotocol/go-sdk/mcp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/tidwall/gjson"
	_ "github.com/tidwall/jsonc"
	_ "github.com/tidwall/sjson"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
)
