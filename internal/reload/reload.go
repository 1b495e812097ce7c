// Package reload reads files again when their content has changed.
package reload

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

const (
	settle = 250 * time.Millisecond // from a write to a read: the writer may write more
	coarse = 2 * time.Second        // file times may have this resolution, so that two writes have the same time
)

// Files are read together. Set the fields before the first use. It is safe for concurrent use.
type Files struct {
	Paths []string
	Max   int64                         // bytes of each
	Apply func(contents [][]byte) error // takes a new content; after an error the one before should stay

	mu     sync.Mutex
	infos  []fs.FileInfo // of the last content
	exact  bool          // equal infos mean equal content
	digest [sha256.Size]byte
	bad    error // of the last content, if it is invalid
	last   error // of the last poll
}

// File is a single one.
func File(path string, most int64, apply func(content []byte) error) *Files {
	return &Files{Paths: []string{path}, Max: most, Apply: func(contents [][]byte) error { return apply(contents[0]) }}
}

// Load reads the files for the first time. It does not wait for a recent write to settle.
func (f *Files) Load() error {
	_, err := f.Poll(time.Now().Add(settle))
	return err
}

// Poll reads the files if they may have changed. It reports whether new content applies, or whether an earlier failure has ended. It
// returns each error once, however long it lasts. It sees files that are renamed over, swapped by symbolic links (as in a ConfigMap), or
// removed and created again.
func (f *Files) Poll(now time.Time) (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.last
	changed, err = f.read(now)
	f.last = err
	if err != nil && last != nil && err.Error() == last.Error() {
		return false, nil
	}
	return changed || err == nil && last != nil, err
}

// Follow polls until the context ends, and calls report after each change and with each error.
func (f *Files) Follow(ctx context.Context, interval time.Duration, report func(error)) {
	Every(ctx, interval, func(now time.Time) {
		if changed, err := f.Poll(now); changed || err != nil {
			report(err)
		}
	})
}

// Every calls poll at an interval until the context ends.
func Every(ctx context.Context, interval time.Duration, poll func(now time.Time)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			poll(now)
		}
	}
}

func (f *Files) read(now time.Time) (changed bool, err error) {
	infos := make([]fs.FileInfo, len(f.Paths))
	same, exact, recent := f.infos != nil && f.exact, true, false
	for i, path := range f.Paths {
		if infos[i], err = os.Stat(path); err != nil {
			return false, err
		}
		written := infos[i].ModTime()
		same = same && os.SameFile(f.infos[i], infos[i]) && written.Equal(f.infos[i].ModTime()) && infos[i].Size() == f.infos[i].Size()
		age := now.Sub(written)
		exact, recent = exact && age > coarse, recent || 0 <= age && age < settle
	}
	if same {
		return false, f.bad
	}
	if recent {
		return false, f.last
	}
	contents, digest := make([][]byte, len(f.Paths)), sha256.New()
	for i, path := range f.Paths {
		if contents[i], err = f.content(path, infos[i]); err != nil {
			return false, err
		}
		fmt.Fprintf(digest, "%d:%s", len(contents[i]), contents[i])
	}
	sum := [sha256.Size]byte(digest.Sum(nil))
	again := f.infos != nil && sum == f.digest
	f.infos, f.exact, f.digest = infos, exact, sum
	if !again {
		f.bad = f.Apply(contents)
	}
	return !again && f.bad == nil, f.bad
}

func (f *Files) content(path string, info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a regular file", path)
	}
	opened, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	content, err := io.ReadAll(io.LimitReader(opened, f.Max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > f.Max {
		return nil, fmt.Errorf("read %s: larger than %d bytes", path, f.Max)
	}
	return content, nil
}
