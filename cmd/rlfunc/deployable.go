package main

import (
	"slices"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/codegen/diag"
	"github.com/rlfunc/rlfunc/codegen/source"
	"github.com/rlfunc/rlfunc/fcall"
)

// deployable are the libraries that may be put onto a server: vetted, and none of them a released version with other bytes. A server
// that lacks that version would take them, and hold what nobody released under a name that says so.
func (a *app) deployable(names []string) ([]*fcall.Library, error) {
	p, err := project.FindOrBuiltIn(a.dir)
	if err != nil {
		return nil, err
	}
	tree, err := p.Load()
	if err != nil {
		return nil, err
	}
	if !p.BuiltIn {
		if err := asReleased(p, tree, names); err != nil {
			return nil, err
		}
	}
	return a.libraries(tree, names)
}

// asReleased holds the libraries that the words name, or all, against released.sum.
func asReleased(p *project.Project, tree *source.Tree, names []string) error {
	snapshot, err := p.Snapshot(tree)
	if err != nil {
		return err
	}
	var found diag.List
	for _, f := range breaking.Compare(snapshot, snapshot, breaking.State) {
		if f.Library == "" || len(names) == 0 || slices.Contains(names, f.Library) {
			found = append(found, f.Diagnostic)
		}
	}
	return found.Err()
}
