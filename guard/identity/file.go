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
	quiet  = 250 * time.Millisecond // since a write, before a file is read: its writer may write more
	coarse = 2 * time.Second        // within it, two writes may leave the same time behind
)

// A file applies the content of a file whenever it has changed. A content that cannot be applied changes nothing.
type file struct {
	path  string
	most  int64 // bytes
	apply func(content []byte) error

	mu     sync.Mutex
	info   fs.FileInfo // of the content that was read last
	sure   bool        // the content cannot have changed if info has not
	digest [sha256.Size]byte
	bad    error // why the content that was read last does not apply
	last   error // what the last poll found
}

func (f *file) source() string { return f.path }

// load reads the file for the first time.
func (f *file) load() error {
	_, err := f.poll(time.Now().Add(quiet)) // a service that starts does not wait
	return err
}

// poll reads the file again if it has changed. It reports whether other content applies now, or works after a failure. It
// returns an error once, not for as long as it lasts.
func (f *file) poll(now time.Time) (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.last
	changed, err = f.look(now)
	f.last = err
	if err != nil && last != nil && err.Error() == last.Error() {
		return false, nil
	}
	return changed || err == nil && last != nil, err
}

func (f *file) look(now time.Time) (changed bool, err error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return false, err
	}
	if f.info != nil && f.sure && os.SameFile(f.info, info) && info.ModTime().Equal(f.info.ModTime()) && info.Size() == f.info.Size() {
		return false, f.bad
	}
	age := now.Sub(info.ModTime())
	if 0 <= age && age < quiet {
		return false, f.last
	}
	content, err := f.read(info)
	if err != nil {
		return false, err
	}
	digest := sha256.Sum256(content)
	same := f.info != nil && digest == f.digest
	f.info, f.sure, f.digest = info, age > coarse, digest
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
	content, err := io.ReadAll(io.LimitReader(opened, f.most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > f.most {
		return nil, fmt.Errorf("read %s: larger than %d bytes", f.path, f.most)
	}
	return content, nil
}
