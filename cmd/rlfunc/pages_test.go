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
	"github.com/spf13/cobra"
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
		rlfuncIn(t, dir, "init", "--module", "example.com/limits")
		write(t, dir+"/functions/quota/"+block[2]+".lua", block[1])
		code, out, errOut := runOutside(t, "-C", dir, "vet", "--run")
		if code != exitFindings || !strings.Contains(out, block[3]) {
			t.Errorf("%s: exit code %d: %s\n%s", page, code, errOut, cmp.Diff(block[3], out))
		}
	}
}

// Every rlfunc command in the documentation, and in the examples of the help, has the flags that it is shown with.
func TestPages_flagsExist(t *testing.T) {
	texts := map[string]string{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if texts[cmd.CommandPath()+" --help"] = cmd.Example; cmd.Example == "" && cmd.Runnable() && !cmd.HasSubCommands() {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(new(app).root())
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
			texts[file] = string(text)
		}
	}
	for file, text := range texts {
		for _, m := range line.FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", " "), -1) {
			cmd, _, _ := new(app).root().Find(strings.Fields(m[1])) // prose has none
			for _, f := range flag.FindAllStringSubmatch(m[1], -1) {
				checked++
				if cmd.Flag(f[1]) == nil {
					t.Errorf("%s: %s has no flag --%s: rlfunc %s", file, cmd.CommandPath(), f[1], m[1])
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d flags", checked)
	}
}

// The pages show what rlfunc prints of the policy above a command. "..." stands for the rest.
func TestPages_policyCommandsPrintWhatIsShown(t *testing.T) {
	part := regexp.MustCompile("(?m)^```yaml\n(?s:(.*?))^```|^(?:    )?\\$ rlfunc ((?:policy|replay) .*)\n((?:(?:    )?[^\n`$].*\n)+)")
	for page, want := range map[string]int{"serve.md": 1, "policy.md": 4, "protect-a-service.md": 1} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(page, func(t *testing.T) {
			t.Chdir(t.TempDir())
			files := map[string]string{"keys.txt": fmt.Sprintf("%x ada\n", sha256.Sum256([]byte("open sesame"))), "access.log": accessLog()}
			for _, m := range part.FindAllStringSubmatch(string(text), -1) {
				if m[2] == "" {
					files["limits.yaml"] = "version: 1\n" + strings.Replace(m[1], "version: 1\n", "", 1)
					continue
				}
				for name, content := range files {
					write(t, name, content)
				}
				args := word.FindAllString(m[2], -1)
				for i := range args {
					args[i] = strings.Trim(args[i], "'")
				}
				_, printed := rlfunc(args...)
				shown, _, cut := strings.Cut(regexp.MustCompile("(?m)^    ").ReplaceAllString(m[3], ""), "...\n")
				if cut {
					printed = printed[:min(len(printed), len(shown))]
				}
				if diff := cmp.Diff(shown, printed); diff != "" {
					t.Errorf("%s (-shown +printed):\n%s", m[2], diff)
				}
				want--
			}
			if want != 0 {
				t.Errorf("%d commands are missing", want)
			}
		})
	}
}

// accessLog has 14 chats of one address in 14 seconds, and one each of 12 others.
func accessLog() string {
	var log strings.Builder
	for i := range 26 {
		fmt.Fprintf(&log, "203.0.113.%d - - [27/Nov/2026:09:00:%02d +0000] \"POST /v1/chat HTTP/1.1\" 200 12\n", max(7, i-6), i)
	}
	return log.String()
}

// The limiter of CONTRIBUTING.md keeps what its header says.
func TestContributing_limiterIsRight(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, lua, _ := strings.Cut(string(text), "```lua\n")
	lua, _, _ = strings.Cut(lua, "```")
	files := map[string]string{"rlfunc.yaml": "functions: functions\ngen: gen\n", "functions/ratelimit/cooldown.lua": lua}
	for _, file := range []string{"functions/ratelimit/library.lua", "functions/lib/clock.lua"} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		files[file] = string(text)
	}
	dir := t.TempDir()
	for file, content := range files {
		must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755))
		write(t, filepath.Join(dir, file), content)
	}
	if code, out, errOut := runOutside(t, "-C", dir, "vet", "--run"); code != exitOK {
		t.Errorf("exit code %d: %s%s", code, out, errOut)
	}
}
