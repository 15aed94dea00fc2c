// Package record keeps what crosses the shim: it writes captures, keeps secrets
// out of them, and reads them back.
//
// It owns the capture format below, the [Writer] that makes it as a
// [proxy.Tap], rotates its files and keeps them, the redaction that both the
// writer and others use ([Redact], [RedactText], [RedactCapture]), and the reader
// ([Read], [Open], [Parts]). It must not know what a session or a quirk is, it never decides anything about a frame, and a disk
// that is full or slow never reaches the traffic: what could not be written is
// counted and named.
//
// # The format
//
// A capture is UTF-8, one JSON object a line, each line ended by "\n". The first
// line of a run is its header:
//
//	{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00.123456789Z",
//	 "shim":"0.1.0","pid":4711,"redacted":true,"maxBlob":65536,"run":"81e263a52bd8bcdd","part":1,
//	 "agent":{"name":"agy","argv":["agy_acp_server.par","--uid="],"info":{...}}}
//
// A file to which several runs were appended has several headers; what follows
// one belongs to it. A run may go on in another file, whose header has the same
// "run" and "start" and the next "part": seqs and times go on there, and what was
// open is open still, so that the parts behind each other are one capture; see
// [Header.Continues]. "info" is what the agent said of itself in answer to
// initialize (agentInfo). A run's first part has it in that frame, and in its header
// only where whoever began the capture knew it; later parts have it there.
//
// A whole file may be compressed with zstd; it then begins with that format's magic
// number, by which a reader tells.
//
// Where "redacted" is true, [redacted] stands for a secret, and redacted where that
// would not fit: in a URL, in base64. Where "maxBlob" is there, a string of base64
// longer than that is [blob: 1200 bytes, sha256 9f86..., image/png], which tells the
// length and the hash of the bytes that it stood for. Of a capture that is neither
// redacted nor has a maxBlob both byte streams can be had back exactly.
//
// After the header comes a line per frame or event, in the
// order in which the shim decided. Every line has "seq", which counts from 1
// and has no holes but those that a gap names, and "t", nanoseconds since
// start on the monotonic clock. A frame:
//
//	{"seq":17,"t":1234567,"from":"client","to":"agent#1","frame":{...},
//	 "edits":[{"at":31,"old":"method","new":"methodId"}],"why":"held","again":true}
//
//	from, to   "client", "shim", "agent#N" (the Nth process, from 1), or null:
//	           where nobody received it
//	frame      the line as it was sent, byte for byte, when it is one JSON value
//	           in UTF-8 (and nests less than a thousand deep)
//	text       else the line, as a JSON string, when it is UTF-8
//	base64     else the line, in base64
//	pre        white space before it, when there is any
//	post       what followed it, when that is not just "\n": white space and the
//	           line end, "" where the stream ended without one
//	edits      what the shim changed, one after the other; "at" counts bytes of
//	           pre + frame + post as the edits before it left them. Undone from
//	           the last to the first they give back what was received. "old64"
//	           and "new64" stand for "old" and "new" that are not UTF-8.
//	why        in a word or two, why a frame was dropped, held or made
//	again      the line was reported before, when it was held; it was received
//	           once only
//
// An event:
//
//	{"seq":19,"t":1250000,"event":"exit","agent":"agent#1","session":"s1","text":"...","data":{...}}
//
// where only "event" is always there, and "base64" stands for a "text" that is
// not UTF-8. Two events are the writer's own. "gap" says in its data what is not
// here: {"frames":3,"events":0,"bytes":4096,"first":20,"last":22,"why":"..."}, where
// first and last are seqs. "end" is the last line of a run that ended in order
// and carries totals: {"frames":9,"events":4,"bytes":8192,"lost":0,"summary":{...}}.
// A run without it was cut short, and its last line may be torn.
//
// # Goroutines
//
// The flusher is started by [Create] and ended by [Writer.Close]. It sleeps until
// 10 ms after the first byte of a batch, and blocks in the file's writes only.
// The keeper's goroutines, one at work at a time, sync, compress and remove files
// that are not written any more. Close stops them between two blocks.
package record
