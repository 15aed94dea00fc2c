// Package show makes lines that a person reads of the records of a capture: what
// matters of each frame in a few words, streams of chunks folded into one, what
// is not wanted left out, and text of the peers made fit for a terminal.
//
// It owns the gist of every method, the folding, the filters, the search in
// decoded text, and how a capture is followed while it is written. It must not
// know of columns, colours or flags: those are the command's. It keeps at most one
// fold per stream, never the capture.
package show
