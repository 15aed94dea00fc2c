//go:build unix && race

package main

// unhurried stretches bounds of time where the race detector watches: the
// program under test is this binary, which is then several times slower.
const unhurried = 8
