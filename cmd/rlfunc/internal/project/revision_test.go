package project_test

import (
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
)

func TestRevision_saysThatGitIsMissing(t *testing.T) {
	t.Setenv("PATH", "")
	p := &project.Project{Dir: t.TempDir(), Config: project.Config{Functions: "functions"}}
	if _, err := p.Revision(t.Context(), "v1.0.0"); err == nil || !strings.Contains(err.Error(), "git is not on the path") {
		t.Errorf("got %v", err)
	}
}
