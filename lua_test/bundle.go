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
