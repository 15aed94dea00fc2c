//go:build unix && !race

package main

// unhurried stretches bounds of time; see the other one.
const unhurried = 1
