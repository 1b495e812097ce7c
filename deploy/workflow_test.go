// Package deploy_test runs the files of deploy/.
package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

type workflow struct {
	Jobs map[string]struct {
		Steps []struct {
			Name, Uses, Run string
		}
	}
}

// The workflow's commands deploy this module's libraries to a server, and find no changes the second time.
func TestWorkflow_deploysItsPlan(t *testing.T) {
	text, err := os.ReadFile("github-actions.yml")
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	servers := engines.Real(t)
	bin := filepath.Dir(buildProgram(t))
	for _, e := range servers {
		t.Run(e.Name, func(t *testing.T) {
			e.Client(t) // leaves the server empty
			dir := t.TempDir()
			output := filepath.Join(dir, "output")
			do := func(job string) {
				t.Helper()
				for _, step := range w.Jobs[job].Steps {
					if step.Run == "" || strings.Contains(step.Run, " install ") {
						continue
					}
					onpath.Used() // what it reads is not part of this program
					cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", step.Run)
					cmd.Dir = dir
					cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "REDIS_URL="+e.URL, "GITHUB_OUTPUT="+output)
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("%s: %s: %v\n%s", job, step.Run, err, out)
					}
				}
			}
			for _, changes := range []string{"2", "0"} {
				os.Remove(output)
				do("plan")
				if got, _ := os.ReadFile(output); string(got) != "changes="+changes+"\n" {
					t.Fatalf("the plan's output is %q, want changes=%s", got, changes)
				}
				if changes == "2" {
					do("deploy")
				}
			}
		})
	}
}
