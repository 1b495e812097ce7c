package project_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
)

// A folder that is a link leads out of the project.
func TestWrite_followsNoLinkOutOfTheProject(t *testing.T) {
	outside := t.TempDir()
	p := &project.Project{Dir: t.TempDir(), Config: project.Config{Functions: "functions", Gen: "gen"}}
	if err := os.Symlink(outside, filepath.Join(p.Dir, "gen")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Compare(map[string][]byte{"gen/x.txt": nil}); err == nil {
		t.Error("Compare follows a link out of the project")
	}
	if err := p.Write([]project.Difference{{Path: "gen/x.txt", Kind: "missing", Want: "x"}}); err == nil {
		t.Error("Write follows a link out of the project")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside the project there are now %v, %v", left, err)
	}
}
