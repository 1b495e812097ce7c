package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

// pages are the Markdown files of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	onpath.Used() // what it reads is not part of this program
	out, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "--cached", "--others", "--exclude-standard", "*.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for file := range strings.Lines(string(out)) {
		path := filepath.Join("..", strings.TrimSpace(file))
		if _, err := os.Stat(path); err == nil { // not deleted
			all = append(all, path)
		}
	}
	if len(all) < 30 {
		t.Fatalf("%d pages: %v", len(all), all)
	}
	return all
}

var (
	fenced = regexp.MustCompile("(?s)\n```.*?\n```")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// Every link of a page to a file of the repository leads to one, and to a heading that is there.
func TestPages_linksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, page), ""), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			path, heading, _ := strings.Cut(match[1], "#")
			file := page
			if path != "" {
				file = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s: %v", page, match[1], err)
			} else if heading != "" && !anchors(read(t, file))[heading] {
				t.Errorf("%s links to %s, and %s has no such heading", page, match[1], file)
			}
		}
	}
}

// A page that the index lacks is never read.
func TestPages_areInTheIndex(t *testing.T) {
	index := read(t, "../docs/README.md")
	for _, page := range pages(t) {
		if name := filepath.Base(page); filepath.Dir(page) == "../docs" && name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
}

// A picture that no page shows is never seen.
func TestPages_showEachPicture(t *testing.T) {
	shown := map[string]bool{}
	for _, page := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(read(t, page), -1) {
			shown[filepath.Join(filepath.Dir(page), match[1])] = true
		}
	}
	for _, pattern := range []string{"../docs/*.png", "../docs/*.svg", "../docs/*/*.svg"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if !shown[file] {
				t.Errorf("no page shows %s", file)
			}
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(page string) map[string]bool {
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	all := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		all[strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-")] = true
	}
	return all
}
