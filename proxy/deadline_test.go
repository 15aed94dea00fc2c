package proxy

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadlines has both kinds ring when they were last set for, and never else.
func TestDeadlines(t *testing.T) {
	for _, kind := range []timerKind{timerIdle, timerLoad} {
		for _, c := range []struct{ does, rings string }{
			{"arm 10", "10"},
			{"arm 10, 4, disarm", ""},
			{"arm 10, 4, arm 10", "14"},
			{"arm 10, 4, arm 3", "7"},
			{"arm 10, 4, arm 20, 1, arm 2", "7"},
			{"arm 10, 4, disarm, 1, arm 10", "15"},
			{"arm 10, 4, disarm, 1, arm 2", "7"},
			{"arm 10, 4, disarm, 8, arm 10", "22"},
			{"arm 10, 9, arm 10, 9, arm 10, 9, arm 10", "37"},
			{"arm 10, 11, arm 10", "10 21"},
			{"arm 10, 10, disarm", "10"},
			{"disarm, arm 5, 1, disarm, 1, disarm, 9, arm 1", "12"},
			{"arm 5, 1, stop", ""},
			{"arm 10, 4, rest", ""},
			{"arm 10, 4, rest, 1, arm 10", "15"},
			{"arm 10, 4, rest, 1, arm 2", "7"},
			{"arm 10, 4, rest, 8, arm 10", "22"},
			{"rest, arm 5, 1, rest, 1, disarm, 9, arm 1", "12"},
			{"arm 10, 4, rest, 1, disarm", ""},
		} {
			synctest.Test(t, func(t *testing.T) {
				began, k := time.Now(), timerKey{kind: kind, name: "a"}
				var rang []string
				var mu sync.Mutex // the loop's
				locked := func(f func()) {
					mu.Lock()
					defer mu.Unlock()
					f()
				}
				s := &deadlines{
					step: locked,
					over: func(timerKey) { rang = append(rang, fmt.Sprint(int(time.Since(began)/time.Second))) },
				}
				for _, do := range strings.Split(c.does, ", ") {
					n := time.Duration(0)
					fmt.Sscanf(strings.TrimPrefix(do, "arm "), "%d", &n)
					switch {
					case do == "disarm":
						locked(func() { s.disarm(k) })
						if len(s.list) != 0 {
							t.Errorf("%s: a timer that was disarmed is there until it rings", c.does)
						}
					case do == "rest":
						locked(func() { s.rest(k) })
					case do == "stop":
						locked(s.stop)
					case strings.HasPrefix(do, "arm"):
						locked(func() { s.arm(k, n*time.Second) })
					default:
						time.Sleep(n * time.Second)
						synctest.Wait()
					}
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := strings.Join(rang, " "); got != c.rings {
					t.Errorf("%v, %s: it rang at %q, and not at %q", kind, c.does, got, c.rings)
				}
				if len(s.list) != 0 {
					t.Errorf("%v, %s: %d are left", kind, c.does, len(s.list))
				}
			})
		}
	}
}
