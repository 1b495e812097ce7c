package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

// A repository is a folder below which git runs, apart from this machine's configuration.
type repository struct{ dir string }

func newRepository(t *testing.T) repository {
	t.Helper()
	onpath.Program(t, "git")
	for _, name := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+name+"_NAME", "A")
		t.Setenv("GIT_"+name+"_EMAIL", "a@example.com")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r := repository{t.TempDir()}
	r.git(t, "init", "-q")
	return r
}

func (r repository) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", r.dir}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes files, each name followed by its text. A text that begins with "-> " is the target of a link.
func (r repository) write(t *testing.T, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		file, text := filepath.Join(r.dir, files[i]), files[i+1]
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if target, isLink := strings.CutPrefix(text, "-> "); isLink && err == nil {
			err = os.Symlink(target, file)
		} else if err == nil {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// commit commits everything, with a tag.
func (r repository) commit(t *testing.T, tag string) {
	t.Helper()
	r.git(t, "add", "-A")
	r.git(t, "commit", "-q", "-m", tag)
	r.git(t, "tag", tag)
}

var (
	narrowTake = strings.Replace(demoTake, "count[1..9]", "count[1..5]", 1)
	newLibrary = strings.Replace(demoLibrary, "1.0.0", "1.1.0", 1)
)

const narrowed = "argument limit of take has at most 5 and had at most 9 (argument-narrower)"

// breaks compares a project with a revision of it, from which narrowTake differs in one way.
func breaks(t *testing.T, dir, revision string) {
	t.Helper()
	out, said := demoProject{dir}.does(t, exitFindings, "breaking", "--against", revision)
	contains(t, "breaking", out+said, narrowed)
}

// Hooks, rebases and linked worktrees set variables that lead git to another repository, or to another folder of it.
func TestBreaking_readsTheProjectsOwnRepository(t *testing.T) {
	other := newRepository(t)
	other.write(t, "rlfunc.yaml", "", "functions/demo/library.lua", newLibrary, "functions/demo/take.lua", narrowTake)
	other.commit(t, "v1.0.0")
	r := newRepository(t)
	// The folder above the project has a project of its own, in which nothing breaks.
	r.write(t, "rlfunc.yaml", "", "functions/demo/library.lua", newLibrary, "functions/demo/take.lua", narrowTake,
		"my/rlfunc.yaml", "", "my/functions/demo/library.lua", demoLibrary, "my/functions/demo/take.lua", demoTake)
	r.commit(t, "v1.0.0")
	narrow := []string{"my/functions/demo/library.lua", newLibrary, "my/functions/demo/take.lua", narrowTake}
	r.write(t, narrow...)
	linked := repository{filepath.Join(t.TempDir(), "linked")}
	r.git(t, "worktree", "add", "-q", linked.dir)
	linked.write(t, narrow...)
	worktree := linked.git(t, "rev-parse", "--absolute-git-dir")
	for name, variables := range map[string][]string{
		"another repository":     {"GIT_DIR", filepath.Join(other.dir, ".git")},
		"another work tree":      {"GIT_DIR", filepath.Join(other.dir, ".git"), "GIT_WORK_TREE", other.dir, "GIT_PREFIX", ""},
		"a hook":                 {"GIT_DIR", filepath.Join(r.dir, ".git"), "GIT_INDEX_FILE", filepath.Join(r.dir, ".git/index"), "GIT_PREFIX", ""},
		"a rebase":               {"GIT_DIR", filepath.Join(r.dir, ".git"), "GIT_WORK_TREE", filepath.Join(r.dir, "my")},
		"a linked worktree":      {"GIT_DIR", worktree},
		"other objects":          {"GIT_OBJECT_DIRECTORY", filepath.Join(other.dir, ".git/objects"), "GIT_COMMON_DIR", filepath.Join(other.dir, ".git")},
		"pathspecs":              {"GIT_ICASE_PATHSPECS", "1"},
		"a repository elsewhere": {"GIT_CONFIG_COUNT", "1", "GIT_CONFIG_KEY_0", "core.worktree", "GIT_CONFIG_VALUE_0", other.dir},
	} {
		t.Run(name, func(t *testing.T) {
			for i := 0; i < len(variables); i += 2 {
				t.Setenv(variables[i], variables[i+1])
			}
			breaks(t, filepath.Join(r.dir, "my"), "v1.0.0")
			breaks(t, filepath.Join(linked.dir, "my"), "git:v1.0.0")
		})
	}
}

// What cannot be read at a revision is an error. A library that was left out would break nothing.
func TestBreaking_failsOnWhatARevisionDoesNotHold(t *testing.T) {
	const library, take = "functions/demo/library.lua", "functions/demo/take.lua"
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"a link to a file":   {[]string{library, demoLibrary, take, "-> ../../take.lua", "take.lua", demoTake}, take + " is a link"},
		"a link to a folder": {[]string{"functions/demo", "-> ../shared", "shared/library.lua", demoLibrary, "shared/take.lua", demoTake}, "functions/demo is a link"},
		"a linked tree":      {[]string{"functions", "-> lua", "lua/demo/library.lua", demoLibrary, "lua/demo/take.lua", demoTake}, "functions is a link"},
		"a file":             {[]string{"functions", ""}, "functions is not a folder"},
		"nothing":            {[]string{"functoins/a", ""}, "no folder functions"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.write(t, "rlfunc.yaml", "")
			r.write(t, c.files...)
			r.commit(t, "v1.0.0")
			must(t, os.RemoveAll(filepath.Join(r.dir, "functions")))
			r.write(t, library, newLibrary, take, narrowTake)
			_, said := demoProject(r).does(t, exitError, "breaking", "--against", "v1.0.0")
			contains(t, "breaking", said, "revision v1.0.0: "+c.want)
		})
	}
}
