package main

import (
	"path/filepath"
	"testing"
)

func TestTildes(t *testing.T) {
	home := filepath.FromSlash("/home/me")
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for text, want := range map[string]string{
		"":                               "",
		"/home/me":                       "~",
		"/home/me/a: not there":          "~/a: not there",
		"writing /home/me/a, /home/me/b": "writing ~/a, ~/b",
		`"/home/me/a"`:                   `"~/a"`,
		"/home/melanie/a":                "/home/melanie/a",
		"/mnt/home/me/a":                 "/mnt/home/me/a",
		"A=/home/me/a":                   "A=/home/me/a",
	} {
		if got := tildes(filepath.FromSlash(text)); got != filepath.FromSlash(want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
