// Package exchange leads captures out to other tools and other tools' recordings
// in.
//
// It owns what the other formats look like and how a capture is mapped to them:
// plain JSON lines ([Plain]), a transcript in Markdown ([Transcript]), the events of
// the Rust SDK's trace viewer ([Viewer]), the trace of acp-inspector ([Inspector]),
// spans of OpenTelemetry ([Spans], [Collector]), and the readers of plain and
// labelled JSON lines and of acp-devtools ([Import]). It must not know how a file is
// opened, a flag is called or a terminal painted. An [Exporter] keeps what is open,
// cut to a bounded size, and never what is over.
//
// # Where the formats are known from
//
// None of the readers was run against what this package writes. What is known was
// read in their sources:
//
//   - .jsons: symposium-dev/symposium-acp, md/trace-viewer.md (the schema),
//     src/sacp-conductor/src/trace.rs (what the conductor writes: a session that is
//     not known is left out) and src/sacp-trace-viewer/src/viewer.html (what the
//     viewer reads). The crate lives on as agentclientprotocol/rust-sdk,
//     src/agent-client-protocol-trace-viewer, whose lib.rs takes any JSON object a
//     line; its viewer.html could not be read. The conductor itself writes "Client",
//     "Proxy(0)" and "Agent" (its tests/trace_snapshot.rs); the viewer puts the
//     columns "client" first and "agent" last, as the schema has it, and so does
//     this package. The viewer pairs a request with its answer by receiver and id,
//     and puts a method into the page without escaping it.
//   - acp-inspector: sagikazarmark/acp-inspector, docs/trace-export.md and
//     crates/core/src/export.rs, version 1. It has "encoding" for readers of a
//     related format that can carry bytes, but only ever writes "utf8"; that bytes
//     are called "base64" there is a guess.
//   - acp-devtools: maksugr/acp-devtools, packages/core/src/storage/export.ts and
//     packages/core/src/acp/types.ts, version 1.
//   - OTLP: open-telemetry/opentelemetry-proto, docs/specification.md (OTLP/HTTP, its
//     JSON encoding, retries) and opentelemetry/proto/trace/v1/trace.proto. The
//     generated types of go.opentelemetry.io/proto/otlp v1.11.1 have read what is
//     written, with no member unknown; no collector has. Names of attributes:
//     open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-agent-spans.md, and
//     open-telemetry/semantic-conventions, docs/rpc/json-rpc.md, both in development
//     there. What they have no name for begins with "acp.".
package exchange
