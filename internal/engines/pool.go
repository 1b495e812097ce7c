package engines

import (
	"fmt"
	"os"
	"path/filepath"
)

// fromPool returns a server in a container that this process alone has until it ends. Where RLFUNC_ENGINE_POOL names a folder, the
// container stays: the next process takes it over, empty, and the owner of the folder removes it. start starts the server of a container,
// or finds it if it runs; a container without a name ends with this process.
func fromPool(engine string, start func(container string) (*server, error)) (*server, error) {
	pool := os.Getenv("RLFUNC_ENGINE_POOL")
	if pool == "" {
		return start("")
	}
	for n := 1; ; n++ {
		container := fmt.Sprintf("%s-%s-%d", filepath.Base(pool), engine, n)
		unlock, locked, err := tryLockFile(filepath.Join(pool, container))
		if err != nil {
			return nil, err
		}
		if !locked {
			continue
		}
		s, err := start(container)
		if err != nil {
			unlock()
			return nil, err
		}
		s.end = func() {
			s.leaveEmpty()
			unlock()
		}
		return s, nil
	}
}
