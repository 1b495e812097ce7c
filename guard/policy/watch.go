package policy

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	quiet     = 100 * time.Millisecond // without an event, before a file is read: who truncates it writes it too
	impatient = time.Second            // after the first event, however many follow
	lookAgain = 5 * time.Second        // for what gives no events: network file systems, a folder that was replaced
)

// Watch calls f with the policy in a file, or with what is wrong with it, once before it returns and then whenever the
// content has changed; never twice at a time. On an error the caller keeps the policy that it has. A file that is renamed
// over, swapped by symbolic links as a ConfigMap is, or removed and made again is followed. It ends with its context; the
// error is that of setting it up.
func Watch(ctx context.Context, path string, f func(*Policy, error)) error {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	w := &watcher{path: path, tell: f, events: events}
	w.follow()
	w.look()
	go w.run(ctx)
	return nil
}

type watcher struct {
	path   string
	tell   func(*Policy, error)
	events *fsnotify.Watcher
	last   string // what was told: a digest of the content, or the text of the error
}

func (w *watcher) run(ctx context.Context) {
	defer w.events.Close()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	var wait <-chan time.Time // nil while nothing happens
	var since time.Time
	happened := func() {
		if wait == nil {
			since = time.Now()
		}
		wait = time.After(min(quiet, max(impatient-time.Since(since), 0)))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.events.Events:
			if !ok {
				return
			}
			happened()
		case _, ok := <-w.events.Errors: // an overflow: something was missed
			if !ok {
				return
			}
			happened()
		case <-again.C:
			happened()
		case <-wait:
			wait = nil
			w.follow()
			w.look()
		}
	}
}

// follow watches the folder of the file, and that of what it leads to. What can not be watched is looked at again later.
func (w *watcher) follow() {
	_ = w.events.Add(filepath.Dir(w.path))
	if target, err := filepath.EvalSymlinks(w.path); err == nil {
		_ = w.events.Add(filepath.Dir(target))
	}
}

// look tells what is new.
func (w *watcher) look() {
	data, err := read(w.path)
	now := ""
	if err != nil {
		now = err.Error()
	} else {
		sum := sha256.Sum256(data)
		now = string(sum[:])
	}
	if now == w.last {
		return
	}
	w.last = now
	if err != nil {
		w.tell(nil, err)
		return
	}
	w.tell(Parse(w.path, data))
}
