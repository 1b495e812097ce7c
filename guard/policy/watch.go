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
	settle   = 100 * time.Millisecond // without events before a read: a writer may have truncated the file first
	maxDelay = time.Second            // from the first event to the read
	interval = 5 * time.Second        // of polling, for changes without events: network file systems, a replaced folder
)

// Watch calls f with the policy in a file, or with its error: once before Watch returns, then after each change of the content.
// Calls never overlap. On an error, keep the current policy. Watch follows files that are renamed over, swapped by symbolic
// links (as in a ConfigMap), or removed and created again. It ends with ctx. Its own error means that it could not start.
func Watch(ctx context.Context, path string, f func(*Policy, error)) error {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	w := &watcher{path: path, report: f, events: events}
	w.addFolders()
	w.check()
	go w.run(ctx)
	return nil
}

type watcher struct {
	path   string
	report func(*Policy, error)
	events *fsnotify.Watcher
	last   string // digest of the last content, or text of the last error
}

func (w *watcher) run(ctx context.Context) {
	defer w.events.Close()
	poll := time.NewTicker(interval)
	defer poll.Stop()
	var due <-chan time.Time // nil unless a check is due
	var since time.Time      // first event since the last check
	schedule := func() {
		if due == nil {
			since = time.Now()
		}
		due = time.After(min(settle, max(maxDelay-time.Since(since), 0)))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.events.Events:
			if !ok {
				return
			}
			schedule()
		case _, ok := <-w.events.Errors: // an overflow lost events
			if !ok {
				return
			}
			schedule()
		case <-poll.C:
			schedule()
		case <-due:
			due = nil
			w.addFolders()
			w.check()
		}
	}
}

// addFolders watches the folder of the file, and that of its symbolic link's target. If it cannot, polling sees the change.
func (w *watcher) addFolders() {
	_ = w.events.Add(filepath.Dir(w.path))
	if target, err := filepath.EvalSymlinks(w.path); err == nil {
		_ = w.events.Add(filepath.Dir(target))
	}
}

// check reads the file and reports a change.
func (w *watcher) check() {
	data, err := readFile(w.path)
	current := ""
	if err != nil {
		current = err.Error()
	} else {
		sum := sha256.Sum256(data)
		current = string(sum[:])
	}
	if current == w.last {
		return
	}
	w.last = current
	if err != nil {
		w.report(nil, err)
		return
	}
	w.report(Parse(w.path, data))
}
