package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every link of a page to a file of the repository leads to one, and to a heading that is there.
func TestPages_linksLeadSomewhere(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../gen/*/*.md", "*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("pages of %s: %v %v", pattern, found, err)
		}
		pages = append(pages, found...)
	}
	code := regexp.MustCompile("(?s)\n```.*?\n```")
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages {
		for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(read(t, page), ""), -1) {
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

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// anchors are what links to a page's headings end in, as GitHub makes them.
func anchors(page string) map[string]bool {
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	all := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		all[strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-")] = true
	}
	return all
}
