package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/rlfunc/rlfunc/codegen"
)

// A vetted caches what vet learns of a tree without findings: the Redis commands of each function. Vet takes seconds, and its result
// depends only on the source and on this program.
type vetted struct{ file string }

// vettedOf returns the cache of the source below fsys, or nil if there is no folder for it.
func vettedOf(fsys fs.FS) *vetted {
	folder, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	built, err := os.Stat(program)
	if err != nil {
		return nil
	}
	sum := sha256.New()
	info, _ := debug.ReadBuildInfo()
	fmt.Fprintf(sum, "%v\n%d %d\n", info, built.Size(), built.ModTime().UnixNano())
	err = fs.WalkDir(fsys, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() && entry.Type()&fs.ModeSymlink == 0 {
			return err
		}
		text, err := fs.ReadFile(fsys, path) // fails for a link to a folder, which is not walked: then there is no cache
		fmt.Fprintf(sum, "%q %d\n", path, len(text))
		sum.Write(text)
		return err
	})
	if err != nil {
		return nil
	}
	return &vetted{filepath.Join(folder, "rlfunc", "vet", hex.EncodeToString(sum.Sum(nil)))}
}

// fill sets the commands of the tree's functions, and reports whether the cache had them.
func (v *vetted) fill(tree *codegen.Tree) bool {
	if v == nil {
		return false
	}
	text, err := os.ReadFile(v.file)
	if err != nil {
		return false
	}
	var commands map[string][]string // of library.function
	if json.Unmarshal(text, &commands) != nil {
		return false
	}
	for _, lib := range tree.Libraries {
		for i := range lib.Spec.Functions {
			f := &lib.Spec.Functions[i]
			known, ok := commands[lib.Spec.Name+"."+f.Name]
			if !ok {
				return false
			}
			f.Command = known
		}
	}
	return true
}

// keep writes the commands of a tree without findings. The next command vets again if that fails.
func (v *vetted) keep(tree *codegen.Tree) {
	if v == nil {
		return
	}
	commands := map[string][]string{}
	for _, lib := range tree.Libraries {
		for _, f := range lib.Spec.Functions {
			commands[lib.Spec.Name+"."+f.Name] = f.Command
		}
	}
	text, err := json.Marshal(commands)
	if err != nil || os.MkdirAll(filepath.Dir(v.file), 0o700) != nil {
		return
	}
	v.trim()
	part, err := os.CreateTemp(filepath.Dir(v.file), "part-*")
	if err != nil {
		return
	}
	_, err = part.Write(text)
	if closed := part.Close(); err != nil || closed != nil || os.Rename(part.Name(), v.file) != nil {
		os.Remove(part.Name())
	}
}

// trim removes results that are older than a month.
func (v *vetted) trim() {
	folder := filepath.Dir(v.file)
	old, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, entry := range old {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > 30*24*time.Hour {
			os.Remove(filepath.Join(folder, entry.Name()))
		}
	}
}
