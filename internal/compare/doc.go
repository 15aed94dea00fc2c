// Package compare says what differs between two captures of one conversation, on two
// builds of an agent above all.
//
// It owns what counts as a difference: capabilities, methods, members of frames and
// their types, values of enumerations, the order of things, timing. Ids, paths, text
// and times of day are expected to differ and are not compared. It must not know
// how a difference is shown. What it keeps of a capture does not grow with its
// length.
package compare
