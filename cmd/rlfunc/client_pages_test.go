package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

var clientPages = []struct {
	section, language, file string
	start                   []string // the command after the page's; none if the page has it
	lacks                   func(t *testing.T)
	install                 func(t *testing.T, dir string) // the page's command, without a registry
}{
	{"Python", "python", "main.py", []string{"env/bin/python", "main.py"}, func(t *testing.T) {
		if err := exec.Command(debianPython, "-c", "import setuptools, wheel, pip, venv, redis").Run(); err != nil {
			onpath.Lacking(t, "%s lacks redis, pip, setuptools, wheel or venv: %v", debianPython, err)
		}
	}, installPython},
	{"TypeScript", "ts", "main.ts", nil, func(t *testing.T) {
		onpath.Program(t, "tsc")
		onpath.Program(t, "node")
		onpath.Program(t, "npm")
		if _, err := os.Stat(nodeModules + "/redis"); err != nil {
			onpath.Lacking(t, "node-redis is not installed: %v", err)
		}
	}, installNode},
}

const (
	debianPython = "/usr/bin/python3"
	nodeModules  = "/usr/share/nodejs" // Debian's
)

// installPython builds the wheel and installs it in an environment that has Debian's packages besides. The folder that it was built from is
// then gone.
func installPython(t *testing.T, dir string) {
	inFolder(t, dir, debianPython, "-m", "venv", "--system-site-packages", "env")
	inFolder(t, dir, "env/bin/python", "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", "wheels", "./gen/python")
	inFolder(t, dir, "env/bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--find-links", "wheels", "rlfunc-clients")
	remove(t, filepath.Join(dir, "gen/python"))
}

func remove(t *testing.T, dir string) {
	must(t, os.RemoveAll(dir))
}

// installNode packs the npm package, which compiles it, and installs that. The page compiles its folder once more.
func installNode(t *testing.T, dir string) {
	packed := strings.TrimSpace(inFolder(t, filepath.Join(dir, "gen/typescript"), "npm", "pack", "--silent"))
	packed = filepath.Join(dir, "gen/typescript", packed[strings.LastIndexByte(packed, '\n')+1:])
	inFolder(t, dir, "npm", "install", "--offline", "--no-save", "--no-audit", "--no-fund", "--legacy-peer-deps", packed)
	for _, name := range []string{"redis", "@redis"} {
		must(t, os.CopyFS(filepath.Join(dir, "node_modules", name), os.DirFS(filepath.Join(nodeModules, name))))
	}
	types := filepath.Join(dir, "node_modules/@types/node")
	stub, err := os.ReadFile("../../codegen/internal/typescript/testdata/node.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(types, 0o755), os.WriteFile(filepath.Join(types, "index.d.ts"), stub, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("NODE_PATH", nodeModules)
}

// The commands of each section of docs/clients.md, and its programs, run in their order from an empty folder.
func TestClientPages_runFromAnEmptyFolder(t *testing.T) {
	onpath.Full(t)
	for _, c := range clientPages {
		t.Run(c.section, func(t *testing.T) {
			c.lacks(t)
			t.Setenv("REDIS_URL", "redis://"+engines.OnPath(t).Start(t).Addr)
			page, err := os.ReadFile("../../docs/clients.md")
			if err != nil {
				t.Fatal(err)
			}
			_, section, _ := strings.Cut(string(page), "\n## "+c.section+"\n")
			section, _, _ = strings.Cut(section, "\n## ")
			dir, ran, installed := t.TempDir(), 0, 0
			for _, block := range regexp.MustCompile("(?s)```(sh|"+c.language+")\n(.*?)```").FindAllStringSubmatch(section, -1) {
				if block[1] == c.language {
					write(t, filepath.Join(dir, c.file), block[2])
					if c.start != nil {
						checkPrints(t, inFolder(t, dir, c.start...))
						ran++
					}
					continue
				}
				for line := range strings.Lines(block[2]) {
					line = strings.TrimSpace(line)
					words := strings.Fields(line)
					switch {
					case line == "go install github.com/rlfunc/rlfunc/cmd/rlfunc@latest", line == "npm init -y":
					case words[0] == "rlfunc" && words[1] == "init":
						dir = t.TempDir() // outside the first folder
						rlfuncIn(t, dir, words[1:]...)
					case words[0] == "rlfunc":
						rlfuncIn(t, dir, words[1:]...)
					case words[0] == "cd":
						dir = filepath.Join(dir, words[1])
					case line == "pip install ./gen/python", line == "npm install redis@4 typescript @types/node ./gen/typescript":
						c.install(t, dir)
						installed++
					case words[0] == "npx":
						inFolder(t, dir, words[1:]...)
					case words[0] == "node":
						checkPrints(t, inFolder(t, dir, words...))
						ran++
					default:
						inFolder(t, dir, "sh", "-c", line)
					}
				}
			}
			if installed != 2 || ran == 0 {
				t.Errorf("the page installs %d packages and runs %d programs", installed, ran)
			}
		})
	}
}

func checkPrints(t *testing.T, got string) {
	t.Helper()
	if got != "9 left\n" {
		t.Errorf("the page's program printed %q", got)
	}
}

func rlfuncIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	var said strings.Builder
	if code := run(append([]string{"-C", dir}, args...), strings.NewReader(""), &said, &said); code != exitOK {
		t.Fatalf("rlfunc %v: exit %d:\n%s", args, code, said.String())
	}
}

func inFolder(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}
