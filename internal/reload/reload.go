// Package reload reads files again when their content has changed.
package reload

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
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
	changed, err = f.read(now, false)
	f.last = err
	if err != nil && last != nil && err.Error() == last.Error() {
		return false, nil
	}
	return changed || err == nil && last != nil, err
}

// again reads the files whatever their times, and applies content that was invalid once more: what it depends on may be there now. It
// returns each error, however often.
func (f *Files) again() (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.last
	changed, f.last = f.read(time.Now(), true)
	return changed || f.last == nil && last != nil, f.last
}

// A follower is a call of Follow.
type follower struct {
	sync.Mutex // one report at a time
	files      []*Files
	report     func(path string, err error)
}

// followers are all calls of Follow.
var followers struct {
	sync.Mutex
	all []*follower
}

// Follow returns a func that polls files until the context ends. After each change and with each error it calls report with the first path,
// never twice at a time. All reads the files from now on.
func Follow(ctx context.Context, interval time.Duration, report func(path string, err error), files ...*Files) (run func()) {
	one := &follower{files: files, report: report}
	followers.Lock()
	followers.all = append(followers.all, one)
	followers.Unlock()
	context.AfterFunc(ctx, func() {
		followers.Lock()
		followers.all = slices.DeleteFunc(followers.all, func(f *follower) bool { return f == one })
		followers.Unlock()
	})
	return func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				one.poll(func(f *Files) (bool, error) { return f.Poll(now) })
			}
		}
	}
}

// poll reports what polls of the files return.
func (f *follower) poll(poll func(*Files) (changed bool, err error)) {
	f.Lock()
	defer f.Unlock()
	for _, file := range f.files {
		if changed, err := poll(file); changed || err != nil {
			f.report(file.Paths[0], err)
		}
	}
}

// All reads all files that the process follows at once, whatever their times, and reports as Follow does. It also applies content that was
// invalid once more. It returns the paths, each in one of three lists.
func All() (changed, unchanged, failed []string) {
	followers.Lock()
	all := slices.Clone(followers.all)
	followers.Unlock()
	changed, unchanged, failed = []string{}, []string{}, []string{}
	of := map[string]*[]string{} // by path, which several may follow
	for _, one := range all {
		one.poll(func(f *Files) (bool, error) {
			isChanged, err := f.again()
			for _, path := range f.Paths {
				switch {
				case err != nil:
					of[path] = &failed
				case isChanged && of[path] != &failed:
					of[path] = &changed
				case of[path] == nil:
					of[path] = &unchanged
				}
			}
			return isChanged, err
		})
	}
	for _, path := range slices.Sorted(maps.Keys(of)) {
		*of[path] = append(*of[path], path)
	}
	return changed, unchanged, failed
}

func (f *Files) read(now time.Time, again bool) (changed bool, err error) {
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
	if same && !again {
		return false, f.bad
	}
	if recent && !again {
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
	known := f.infos != nil && sum == f.digest && (f.bad == nil || !again)
	f.infos, f.exact, f.digest = infos, exact, sum
	if !known {
		f.bad = f.Apply(contents)
	}
	return !known && f.bad == nil, f.bad
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
