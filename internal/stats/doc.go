// Package stats counts and measures what a capture has: methods, turns, traffic
// and what happened beside it.
//
// It owns what the figures mean: what belongs to a turn, from when to when a time
// is taken, and how quantiles are kept in bounded memory. It must not know how a
// table looks. Turns are handed out when they end; of methods it keeps a fixed
// size each, and of both peers' names a fixed number.
package stats
