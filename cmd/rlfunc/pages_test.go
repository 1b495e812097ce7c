package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
)

// A page that shows a fault of a function, and what `rlfunc vet --run` prints about it, shows what it prints.
func TestPages_faultIsFound(t *testing.T) {
	shown := regexp.MustCompile("(?s)\n```lua\n([^`]*\nlocal function (\\w+)[^`]*)```\n.*?\n```text\n(functions/\\w+/\\w+\\.lua:[^`]*)```")
	for _, page := range []string{"README.md", "docs/writing-a-function.md"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		block := shown.FindStringSubmatch(string(text))
		if block == nil {
			if page != "README.md" {
				t.Errorf("%s shows no fault", page)
			}
			continue
		}
		dir := t.TempDir()
		if err := os.CopyFS(dir+"/functions", os.DirFS("../../examples/templates/functions")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/functions/quota/"+block[2]+".lua", []byte(block[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/rlfunc.yaml", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, errOut := runOutside(t, "-C", dir, "vet", "--run")
		if code != exitcode.Findings || !strings.Contains(out, block[3]) {
			t.Errorf("%s: exit code %d: %s\n%s", page, code, errOut, cmp.Diff(block[3], out))
		}
	}
}

// Every rlfunc command in the documentation has the flags that it is shown with.
func TestPages_flagsExist(t *testing.T) {
	line, flag := regexp.MustCompile("\\brlfunc ([a-z][^`|;&#(\n]*)"), regexp.MustCompile(`(?:^| )--([a-z][a-z-]*)`)
	checked := 0
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/reference/*.md", "examples/*/README.md", "deploy/*.yml", "deploy/serve/*"} {
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

// The pages show what rlfunc policy explain prints.
func TestPages_explanationsAreTrue(t *testing.T) {
	serve, err := os.ReadFile("../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	descriptors := regexp.MustCompile("```yaml\n(endpoints:[^`]*descriptors:[^`]*)```").FindStringSubmatch(string(serve))
	if descriptors == nil {
		t.Fatal("serve.md has no policy with descriptors")
	}
	shown := regexp.MustCompile(`(?m)^    \$ rlfunc (policy explain .*)\n((?:    .*\n)+)`)
	for page, policy := range map[string]string{"serve.md": "version: 1\n" + descriptors[1], "policy-examples.md": `
version: 1
identities:
  key: {header: X-API-Key, verify: {sha256_file: keys.txt}}
  client: {first: [key, ip]}
endpoints:
  - {name: chat, match: ["POST /v1/chat"], limits: [{name: minute, limit: 10, window: 1m}]}
  - {name: rest, match: ["/v1/"], limits: [{name: day, by: ip, limit: 1000, window: 1d}]}
`} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		m := shown.FindStringSubmatch(string(text))
		if m == nil {
			t.Errorf("%s shows no explanation", page)
			continue
		}
		dir := t.TempDir()
		policy = strings.Replace(policy, "keys.txt", filepath.Join(dir, "keys.txt"), 1)
		for name, content := range map[string]string{"limits.yaml": policy, "keys.txt": fmt.Sprintf("%x ada\n", sha256.Sum256(nil))} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := word.FindAllString(strings.Replace(m[1], "limits.yaml", filepath.Join(dir, "limits.yaml"), 1), -1)
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
		_, output := rlfunc(args...)
		if diff := cmp.Diff(regexp.MustCompile("(?m)^    ").ReplaceAllString(m[2], ""), output); diff != "" {
			t.Errorf("%s (-shown +printed):\n%s", page, diff)
		}
	}
}
