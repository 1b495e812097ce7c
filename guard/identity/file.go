package identity

import (
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

// A file reloads a file whenever it changes. Invalid content has no effect.
type file struct {
	path  string
	max   int64 // bytes
	apply func(content []byte) error

	mu     sync.Mutex
	info   fs.FileInfo // of the last content
	exact  bool        // equal info means equal content
	digest [sha256.Size]byte
	bad    error // of the last content, if it is invalid
	last   error // of the last poll
}

func (f *file) source() string { return f.path }

// load reads the file for the first time.
func (f *file) load() error {
	_, err := f.poll(time.Now().Add(settle)) // does not wait for a recent write to settle
	return err
}

// poll reloads the file if it has changed. It reports whether new content applies, or whether an earlier failure has ended. It
// returns each error once, however long it lasts.
func (f *file) poll(now time.Time) (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.last
	changed, err = f.reload(now)
	f.last = err
	if err != nil && last != nil && err.Error() == last.Error() {
		return false, nil
	}
	return changed || err == nil && last != nil, err
}

func (f *file) reload(now time.Time) (changed bool, err error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return false, err
	}
	if f.info != nil && f.exact && os.SameFile(f.info, info) && info.ModTime().Equal(f.info.ModTime()) && info.Size() == f.info.Size() {
		return false, f.bad
	}
	age := now.Sub(info.ModTime())
	if 0 <= age && age < settle {
		return false, f.last
	}
	content, err := f.read(info)
	if err != nil {
		return false, err
	}
	digest := sha256.Sum256(content)
	same := f.info != nil && digest == f.digest
	f.info, f.exact, f.digest = info, age > coarse, digest
	if !same {
		f.bad = f.apply(content)
	}
	return !same && f.bad == nil, f.bad
}

func (f *file) read(info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a regular file", f.path)
	}
	opened, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	content, err := io.ReadAll(io.LimitReader(opened, f.max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > f.max {
		return nil, fmt.Errorf("read %s: larger than %d bytes", f.path, f.max)
	}
	return content, nil
}
