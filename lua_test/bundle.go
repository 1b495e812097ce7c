package luatest

import (
	_ "embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/bundle"
	"github.com/rlfunc/rlfunc/codegen/source"
	"github.com/rlfunc/rlfunc/fcall"
)

//go:embed clock.lua
var testClock string

// clockFile is the lib file that the test's clock replaces.
const clockFile = "clock"

// testBundle generates the library with the test's clock in it. What it is generated from must be what ships: otherwise
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

func write(lib *fcall.Library, fsys fs.FS, root string, replace map[string]string) (string, error) {
	if fsys == nil {
		return "", fmt.Errorf("test bundle of %s: a real server needs the suite's Source", lib.Name)
	}
	tree, found := source.Load(fsys, root, source.Options{Replace: replace})
	if err := found.Err(); err != nil {
		return "", fmt.Errorf("test bundle of %s: %w", lib.Name, err)
	}
	l, ok := tree.Library(lib.Name)
	if !ok {
		return "", fmt.Errorf("test bundle of %s: no such library in %s", lib.Name, root)
	}
	return bundle.Write(l).Code, nil
}
