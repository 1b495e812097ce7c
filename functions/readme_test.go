package functions_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/functions"
)

var update = flag.Bool("update", false, "rewrite the map in README.md")

const mapBegins = "<!-- The map below is generated: go test ./functions -update -->\n"

var (
	summary = regexp.MustCompile(`(?s)^--- (.*?)\n(?:---\n|--- @)`)
	uses    = regexp.MustCompile(`(?m)^--- @use (.*)$`)
)

// TestREADME_mapIsCurrent checks the map in README.md against the headers and `@use` lines of the Lua files.
func TestREADME_mapIsCurrent(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	prose, drawn, _ := strings.Cut(string(page), mapBegins)
	want := drawMap(t)
	if *update {
		if err := os.WriteFile("README.md", []byte(prose+mapBegins+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, drawn); diff != "" {
		t.Errorf("run go test ./functions -update (-want +got):\n%s", diff)
	}
}

// drawMap returns one table per folder, with a row per file: what it holds and which lib files it calls.
func drawMap(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	var folder string
	err := fs.WalkDir(functions.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Base(name) == "library.lua" {
			return err
		}
		text, err := fs.ReadFile(functions.FS, name)
		if err != nil {
			return err
		}
		if path.Dir(name) != folder {
			folder = path.Dir(name)
			fmt.Fprintf(&b, "\n## %s\n\n| file | holds | calls |\n|---|---|---|\n", folder)
		}
		holds := strings.ReplaceAll(summary.FindStringSubmatch(string(text))[1], "\n--- ", " ")
		calls := ""
		if used := uses.FindStringSubmatch(string(text)); used != nil {
			calls = "→ " + strings.Join(strings.Fields(used[1]), ", ")
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", strings.TrimSuffix(path.Base(name), ".lua"), name, strings.ReplaceAll(holds, "|", `\|`), calls)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
