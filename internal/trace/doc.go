// Package trace tells what the lines of a capture mean: which request a response
// answers and how long that took, which session a frame is about, what was
// history that a load has replayed, and where turns and tools begin and end.
//
// It owns what every way of looking at a capture has in common. It must not know
// how anything is shown. It keeps what is open and never what is over, so that a
// capture of any length passes in bounded memory.
package trace
