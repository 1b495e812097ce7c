package luatest

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/fcall"
)

//go:embed clock.lua
var testClock string

// clockFile is the lib file that the test's clock replaces.
const clockFile = "clock"

// testBundle generates the library with the test's clock in it. Its source must be the source of the released library: otherwise
// the tables would prove something about other bytes.
func testBundle(lib *fcall.Library, fsys fs.FS, root string) (string, error) {
	shipped, err := write(lib, fsys, root, nil)
	if err != nil {
		return "", err
	}
	if shipped != lib.Code {
		return "", fmt.Errorf("test bundle of %s: the generated package is not what %s makes now: run `rlfunc generate`", lib.Name, root)
	}
	// The function's name has to be the library's own: names are global on a server.
	clock := strings.ReplaceAll(testClock, "LIBRARY", lib.ServerName)
	return write(lib, fsys, root, map[string]string{clockFile: clock})
}

// keptTime is where the test's clock keeps its time, and storedTime what a script has in its place: it keeps nothing from
// one call to the next, so the time is in another database, where no test sees it.
const (
	keptTime   = "local test_us = 0\n"
	storedTime = "redis.call('SELECT', 1) local test_us = tonumber(redis.call('GET', 'clock')) redis.call('SELECT', 0)\n"
)

// scriptBundle is what scripts are made from: the library with a clock that reads the stored time.
func scriptBundle(lib *fcall.Library, fsys fs.FS, root string) (string, error) {
	clock := strings.Replace(testClock, keptTime, storedTime, 1)
	if clock == testClock {
		return "", fmt.Errorf("script bundle of %s: clock.lua keeps its time elsewhere", lib.Name)
	}
	return write(lib, fsys, root, map[string]string{clockFile: strings.ReplaceAll(clock, "LIBRARY", lib.ServerName)})
}

// written keeps what write made: a table needs it on each engine, and it takes longer than most tables.
var written sync.Map

func write(lib *fcall.Library, fsys fs.FS, root string, replace map[string]string) (string, error) {
	if fsys == nil {
		return "", fmt.Errorf("test bundle of %s: a real server needs the suite's Source", lib.Name)
	}
	if _, embedded := fsys.(embed.FS); !embedded { // only these surely stay as they are
		return writeAnew(lib, fsys, root, replace)
	}
	key := [...]any{fsys, root, lib.Name, replace[clockFile]}
	if code, ok := written.Load(key); ok {
		return code.(string), nil
	}
	code, err := writeAnew(lib, fsys, root, replace)
	if err == nil {
		written.Store(key, code)
	}
	return code, err
}

func writeAnew(lib *fcall.Library, fsys fs.FS, root string, replace map[string]string) (string, error) {
	tree, found := codegen.Parse(fsys, root, codegen.Options{Replace: replace})
	if err := found.Err(); err != nil {
		return "", fmt.Errorf("test bundle of %s: %w", lib.Name, err)
	}
	l, ok := tree.Library(lib.Name)
	if !ok {
		return "", fmt.Errorf("test bundle of %s: no such library in %s", lib.Name, root)
	}
	return codegen.Bundle(l), nil
}
