package main

import (
	"sync"

	"github.com/tidwall/gjson"

	"acp-shim/internal/login"
	"acp-shim/rewrite"
)

// loginWatch follows the agent's settings file. The agent reads it only when it
// starts (seed): a process that was started before a login was chosen there goes
// on without it, so that those that run nothing are replaced.
type loginWatch struct {
	mu      sync.Mutex
	watcher *rewrite.Watcher
	over    bool
}

// start begins to follow the file, once the agent is known to be the one that
// has it. It reads the disk and must not be called under the loop's lock.
func (l *loginWatch) start(s *shim) {
	path := agentSettings()
	if path == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.watcher != nil {
		return
	}
	auth := func(text []byte) (string, error) { return gjson.GetBytes(text, "auth").Raw, nil }
	text, _ := readSmall(path)
	last, _ := auth(text)
	l.watcher = rewrite.Watch(path, text, auth, func(now string) {
		if now != last {
			last = now
			s.log.Info("the agent's login settings have changed; processes that run nothing are replaced")
			s.loop.Renew("the login settings have changed")
		}
	}, func(error) {}) // a file that is not there is no fault
	go s.sayIfSlow(l.watcher.Slow)
}

func (l *loginWatch) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.watcher != nil {
		l.watcher.Close()
	}
}

// agentSettings is where the Antigravity server keeps its settings; empty where
// there is no home.
func agentSettings() string {
	home := geminiHome()
	if home == "" {
		return ""
	}
	return login.SettingsPath(home)
}
