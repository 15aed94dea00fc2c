// Package schema holds frames against the JSON schema of the Agent Client Protocol.
//
// It owns the embedded schema (see acp/README.md for its source and licence), the
// choice of the definition that a frame must meet, and what is said where it does
// not. It must not know how findings are shown. A definition is chosen by the
// schema's own x-method and x-side; a response by its request.
//
// ACP is extended by its peers all the time. So a variant, a value or a method that
// the schema does not know is a warning, and only what it knows and forbids is a
// violation. Members that it does not name are fine.
package schema
