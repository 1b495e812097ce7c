package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/breaking"
)

// Snapshot returns the project's tree for comparisons, with its released.sum.
func (p *Project) Snapshot(tree *codegen.Tree) (*breaking.Snapshot, error) {
	return withReleased(breaking.Of(tree), os.DirFS(filepath.Join(p.Dir, p.Config.Functions)))
}

// Folder reads another folder for a comparison: a project, or a folder of libraries.
func (p *Project) Folder(dir string) (*breaking.Snapshot, error) {
	if _, err := os.Stat(filepath.Join(dir, ConfigFile)); err == nil {
		other, err := Find(dir)
		if err != nil {
			return nil, err
		}
		tree, err := other.Read()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", dir, err)
		}
		return other.Snapshot(tree)
	}
	return p.snapshot(dir, os.DirFS(dir), p.Config.Functions)
}

// snapshot reads the tree of another version; root is the name of its folder there.
func (p *Project) snapshot(from string, fsys fs.FS, root string) (*breaking.Snapshot, error) {
	tree, found := codegen.Parse(fsys, filepath.ToSlash(root), codegen.Options{})
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", from, err)
	}
	return withReleased(breaking.Of(tree), fsys)
}

func withReleased(s *breaking.Snapshot, fsys fs.FS) (*breaking.Snapshot, error) {
	text, err := fs.ReadFile(fsys, breaking.ReleasedFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return nil, err
	}
	s.Released = breaking.ReadReleased(path.Join(s.Root, breaking.ReleasedFile), string(text))
	return s, nil
}

// Record writes the snapshot's versions into released.sum, and returns those that it added.
func (p *Project) Record(s *breaking.Snapshot) ([]breaking.Release, error) {
	text, added := breaking.Record(s)
	if len(added) == 0 {
		return nil, nil
	}
	name := path.Join(filepath.ToSlash(p.Config.Functions), breaking.ReleasedFile)
	return added, p.Write([]Difference{{Path: name, Kind: "recorded", Want: text}})
}
