package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/examples/templates"
)

// docs/reference/command-line.md has a rlfunc.yaml that is valid, every exit code, and every kind of URL that --redis names.
func TestCommandLinePage_isTrue(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/command-line.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	config := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(page)
	if _, err := project.ParseConfig("rlfunc.yaml", []byte(config[1])); err != nil {
		t.Error(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^rlfunc .*--target (\w+)`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(config[1], line[1]+":\n") {
			t.Errorf("no target %s in the page's rlfunc.yaml", line[1])
		}
	}
	for _, row := range exitcode.Table {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^\| ([0-9]+, )*%d[ ,]`, row.Code)).MatchString(page) {
			t.Errorf("the page lacks exit code %d", row.Code)
		}
	}
	for _, scheme := range []string{"redis://", "rediss://", "unix:///", "redis+cluster://", "redis+sentinel://", "`embedded`"} {
		if !strings.Contains(page, scheme) {
			t.Errorf("the page lacks %s", scheme)
		}
	}
}

// A project of rlfunc init shows targets that are valid once their comment signs are gone.
func TestInit_showsAValidTarget(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := runOutside(t, "init", dir+"/limits"); code != exitcode.OK {
		t.Fatal(stderr)
	}
	text, err := os.ReadFile(dir + "/limits/rlfunc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config, err := project.ParseConfig("rlfunc.yaml", []byte(regexp.MustCompile(`(?m)^# (targets|  )`).ReplaceAllString(string(text), "$1")))
	if err != nil || config.Targets["production"].Redis == "" {
		t.Errorf("%+v %v", config, err)
	}
}

// The call that init prints for each template runs, and docs/writing-a-function.md has the template.
func TestInit_templatesHaveACallAndADoc(t *testing.T) {
	page, err := os.ReadFile("../../docs/writing-a-function.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, template := range templates.All() {
		args := append([]string{"-C", "../../examples/templates", "call", "--redis", "embedded"}, strings.Fields(template.Example)...)
		if code, _, stderr := runOutside(t, args...); code != exitcode.OK {
			t.Errorf("%s: exit code %d: %s", template.Example, code, stderr)
		}
		if !strings.Contains(string(page), "| ["+template.Name+"]") {
			t.Errorf("docs/writing-a-function.md lacks %s", template.Name)
		}
	}
}
