// Package e2e runs real clients and agents in conversation through the shim:
// the examples and the connection of the Go and the TypeScript SDK, acpx, and
// gemini-cli against a model that is faked here. It owns a module of its own, so
// that the shim's module needs none of them, and what npm installs.
//
// Everything stays on the loopback interface; run starts the tests where there
// is no other. Each test has a home of its own, and fails if a process of that
// home is left when it ends.
package e2e
