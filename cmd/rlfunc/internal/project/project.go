// Package project finds the project that a command works on, and loads its libraries.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/diag"
	"github.com/rlfunc/rlfunc/codegen/source"
	"github.com/rlfunc/rlfunc/functions"
)

// ConfigFile marks the root of a project.
const ConfigFile = "rlfunc.yaml"

// ErrNoProject says that there is no rlfunc.yaml in a folder or above it.
var ErrNoProject = errors.New("no " + ConfigFile + " here or above: run `rlfunc init` to make a project, or name its folder with -C")

// A Config is rlfunc.yaml.
type Config struct {
	Functions string `yaml:"functions"` // the source root. Defaults to functions.
	Gen       string `yaml:"gen"`       // where generated packages go. Defaults to gen.
}

// A Project is a folder with a rlfunc.yaml, or the libraries that this program was built with.
type Project struct {
	Dir     string // "" for the built-in libraries
	Config  Config
	BuiltIn bool
}

// Find looks for a project in dir and above it.
func Find(dir string) (*Project, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("open the project: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, ConfigFile))
		switch {
		case err == nil:
			config, err := parse(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Join(at, ConfigFile), err)
			}
			return &Project{Dir: at, Config: config}, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case at == filepath.Dir(at):
			return nil, ErrNoProject
		}
	}
}

// FindOrBuiltIn looks for a project; without one, the libraries that this program was built with stand in.
func FindOrBuiltIn(dir string) (*Project, error) {
	p, err := Find(dir)
	if errors.Is(err, ErrNoProject) {
		return &Project{Config: Config{Functions: functions.Root, Gen: "gen"}, BuiltIn: true}, nil
	}
	return p, err
}

func parse(text []byte) (Config, error) {
	config := Config{Functions: "functions", Gen: "gen"}
	if len(strings.TrimSpace(string(text))) > 0 {
		if err := yaml.UnmarshalWithOptions(text, &config, yaml.Strict()); err != nil {
			return config, errors.New(strings.SplitN(yaml.FormatError(err, false, false), "\n", 2)[0])
		}
	}
	for _, folder := range []struct{ key, value string }{{"functions", config.Functions}, {"gen", config.Gen}} {
		if !filepath.IsLocal(folder.value) || folder.value == "." {
			return config, fmt.Errorf("%s must be a folder inside the project, got %q", folder.key, folder.value)
		}
	}
	if filepath.Clean(config.Functions) == filepath.Clean(config.Gen) {
		return config, errors.New("functions and gen must be two folders: gen is written by the generator alone")
	}
	return config, nil
}

// Load reads and vets every library of the project. What is wrong with the source comes back as a diag.List. The built-in
// libraries were vetted before they were built in.
func (p *Project) Load() (*source.Tree, error) {
	if p.BuiltIn {
		return p.Read()
	}
	return p.load(codegen.Load)
}

// Read reads every library without vetting the Lua, which takes a while: enough to call what is deployed and to compare.
func (p *Project) Read() (*source.Tree, error) { return p.load(source.Load) }

func (p *Project) load(load func(fs.FS, string, source.Options) (*source.Tree, diag.List)) (*source.Tree, error) {
	fsys := fs.FS(functions.FS)
	if !p.BuiltIn {
		root := filepath.Join(p.Dir, p.Config.Functions)
		if _, err := os.Stat(root); err != nil {
			return nil, fmt.Errorf("no folder %s, which %s names as functions", root, filepath.Join(p.Dir, ConfigFile))
		}
		fsys = os.DirFS(root)
	}
	tree, found := load(fsys, filepath.ToSlash(p.Config.Functions), source.Options{})
	return tree, found.Err()
}

// Lacks returns the error for a library that the project does not have; has are those that it has.
func (p *Project) Lacks(name string, has []string) error {
	text := fmt.Sprintf("the project in %s has no library %q%s (it has: %s)", p.Dir, name, diag.DidYouMean(name, has), strings.Join(has, ", "))
	if _, err := fs.Stat(functions.FS, name+"/"+source.LibraryFile); err == nil {
		text += fmt.Sprintf("; %s is built into rlfunc: to use it, run rlfunc outside the project, or with -C FOLDER", name)
	}
	return errors.New(text)
}

// GenDir is where the generated packages stand.
func (p *Project) GenDir() string { return filepath.Join(p.Dir, p.Config.Gen) }
