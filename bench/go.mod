module acp-shim/bench

go 1.26.0

require golang.org/x/sys v0.50.0

require github.com/coder/acp-go-sdk v0.13.5 // indirect
