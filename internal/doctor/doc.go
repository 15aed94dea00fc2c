// Package doctor finds out what keeps an editor, the shim and the agent from
// working together on this machine, and what to do about it.
//
// Each check is a row of a table ([Checks]): what it looks at, and a function over
// a [Machine] and a [Subject], both of which tests put together as they like. A
// check says what it found in one line, and the remedy in another. It changes
// nothing; what can safely be put right is a function of the finding, which the
// caller runs if it was asked to.
//
// It owns what is known of how the agent fails to start, and of what its home must
// hold. It must not print, and it never reads what is in a token.
package doctor
