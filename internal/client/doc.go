// Package client is an ACP client of the shim's own: it starts an agent, writes
// lines to it, and knows which answer belongs to which request.
//
// It is what probes, examines and logs in with; no editor's traffic goes through
// it. It owns the order of what was written and read, and the process, which it
// leaves behind under no circumstances. It must not know what the methods mean: it
// writes any bytes that it is given, valid or not, and keeps those it gets as they
// came.
package client
