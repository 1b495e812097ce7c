//go:build unix

package engines

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile waits until this process alone has the file. The kernel releases it when the process ends.
func lockFile(path string) (unlock func(), err error) {
	return flock(path, syscall.LOCK_EX)
}

// tryLockFile is lockFile that reports false if another process has the file.
func tryLockFile(path string) (unlock func(), locked bool, err error) {
	unlock, err = flock(path, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, false, nil
	}
	return unlock, err == nil, err
}

func flock(path string, how int) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
