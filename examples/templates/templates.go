// Package templates holds the libraries that `rlfunc init --template` starts a project with. What it generates for them is not here, so their
// tests in testdata compile only in a new project: a test of `rlfunc init` makes one and runs them.
package templates

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// placeholder is the tests' import path of the generated packages, which a new project replaces by its own.
const placeholder = "example.com/templates"

//go:embed rlfunc.yaml functions/*/*.lua functions/lib/*/*.lua testdata/*_test.go
var files embed.FS

// A Template is one library: its functions, the lib files that they use, and its test.
type Template struct {
	Name    string
	Example string // arguments of `rlfunc call`
}

// Default is the template of a project that asks for none.
const Default = "quota"

// All returns the templates, the default one first.
func All() []Template {
	return []Template{
		{Default, "quota.take subject=user42 limit=10 period=1m"},
		{"idempotency", "idempotency.begin subject=client7/3f2a token=t1 fingerprint=a1 lease=1m"},
		{"inventory", "inventory.restock subject=item7 units=10"},
		{"leaderboard", "leaderboard.submit subject=season7 player=ann score=10.5"},
	}
}

// Find returns a template by its name.
func Find(name string) (Template, error) {
	var names []string
	for _, t := range All() {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Template{}, fmt.Errorf("no template %q: the templates are %s", name, strings.Join(names, ", "))
}

// Summary returns the first sentence of the library.
func (t Template) Summary() string {
	text, err := files.ReadFile("functions/" + t.Name + "/library.lua")
	if err != nil {
		panic(err) // it is embedded
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(string(text), "--- "), "\n")
	return line
}

// Files returns the template's files, by their slash-separated path in a project of this module and with its test in this package.
func (t Template) Files(module, pkg string) (map[string][]byte, error) {
	out := map[string][]byte{}
	lua, err := fs.Glob(files, "functions/"+t.Name+"/*")
	if err != nil {
		return nil, err
	}
	fill := strings.NewReplacer(placeholder+"/gen/", module+"/gen/", "package templates_test\n", "package "+pkg+"_test\n")
	for names := append(lua, "rlfunc.yaml", "testdata/"+t.Name+"_test.go"); len(names) > 0; names = names[1:] {
		name := names[0]
		if _, have := out[name]; have {
			continue
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if path.Ext(name) == ".go" {
			text = []byte(fill.Replace(string(text)))
		}
		out[strings.TrimPrefix(name, "testdata/")] = text
		for _, uses := range useLine.FindAllSubmatch(text, -1) {
			for _, lib := range strings.Fields(string(uses[1])) {
				names = append(names, t.libFile(lib))
			}
		}
	}
	return out, nil
}

// useLine has the names of the lib files that a Lua file uses.
var useLine = regexp.MustCompile(`(?m)^--- @use (.+)$`)

// libFile returns the file of lib, which is the library's own or shared.
func (t Template) libFile(lib string) string {
	own := "functions/lib/" + t.Name + "/" + lib + ".lua"
	if _, err := fs.Stat(files, own); err == nil {
		return own
	}
	return "functions/lib/" + lib + ".lua"
}
