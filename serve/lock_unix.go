//go:build unix

package serve

import (
	"fmt"
	"os"
	"syscall"
)

// lockFolder waits until no other process is creating or removing a socket in a folder. The kernel unlocks it when the process ends.
func lockFolder(path string) (unlock func(), err error) {
	folder, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		_ = folder.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = folder.Close() }, nil
}
