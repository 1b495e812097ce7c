package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every rlfunc command in the documentation has the flags that it is shown with.
func TestPages_flagsExist(t *testing.T) {
	line, flag := regexp.MustCompile("\\brlfunc ([a-z][^`|;&#(\n]*)"), regexp.MustCompile(`(?:^| )--([a-z][a-z-]*)`)
	checked := 0
	for _, pattern := range []string{"README.md", "docs/*.md", "examples/*/README.md", "deploy/*.yml", "deploy/serve/*"} {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range line.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\\\n", " "), -1) {
				cmd, _, _ := new(app).root().Find(strings.Fields(m[1])) // prose has none
				for _, f := range flag.FindAllStringSubmatch(m[1], -1) {
					checked++
					if cmd.Flag(f[1]) == nil {
						t.Errorf("%s: %s has no flag --%s: rlfunc %s", file, cmd.CommandPath(), f[1], m[1])
					}
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d flags", checked)
	}
}
