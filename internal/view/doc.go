// Package view makes a page of a capture: one HTML file, without anything from
// elsewhere, in which a browser draws who said what to whom, when, and what the shim
// changed.
//
// It owns the page (page/*), what of a capture goes into it, and the form of that:
// see [Page]. It must not know what a line of a capture means, which package trace
// says, nor how a gist is made, which package show does; the page itself decides
// nothing about the protocol either, it draws columns.
//
// # The peers' text
//
// A capture may hold anything that an agent or a client has said, so nothing of it
// may become markup or script. It is embedded as base64 of compressed JSON, whose
// alphabet has neither "<" nor quotes. The page has a Content-Security-Policy that
// allows no source but the one script and the one style, by their hashes, and that
// demands trusted types without allowing a policy, so that the browser itself
// refuses every way from text to markup (innerHTML and its like throw).
//
// # Memory
//
// What the page needs at once, the columns, is kept: some 100 bytes a line and the
// gists. The frames go to a temporary file as they come, compressed in blocks.
package view
