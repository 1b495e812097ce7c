// Package project finds the project that a command works on, and loads its libraries.
package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// ConfigFile marks the root of a project.
const ConfigFile = "rlfunc.yaml"

// ErrNoProject reports that neither a folder nor one above it has a rlfunc.yaml.
var ErrNoProject = errors.New("no " + ConfigFile + " here or above: run `rlfunc init` to make a project, or give its folder with -C")

// A Project is a folder with a rlfunc.yaml, or the built-in libraries.
type Project struct {
	Dir     string
	Config  Config
	BuiltIn bool

	complete []string // folders of clients that flags name
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
			config, err := ParseConfig(filepath.Join(at, ConfigFile), text)
			if err != nil {
				return nil, err
			}
			return &Project{Dir: at, Config: config}, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case at == filepath.Dir(at):
			return nil, ErrNoProject
		}
	}
}

// FindOrBuiltIn looks for a project. Without one it returns the libraries that this program was built with.
func FindOrBuiltIn(dir string) (*Project, error) {
	p, err := Find(dir)
	if errors.Is(err, ErrNoProject) {
		return BuiltIn(dir), nil
	}
	return p, err
}

// BuiltIn returns the libraries that this program was built with, in place of a project in dir.
func BuiltIn(dir string) *Project {
	return &Project{Dir: dir, Config: Config{Functions: functions.Root}, BuiltIn: true}
}

// Load reads and vets every library of the project. Findings are returned as a codegen.Findings. The built-in libraries were vetted before
// they were built in.
func (p *Project) Load(ctx context.Context) (*codegen.Tree, error) {
	if p.BuiltIn {
		return p.Read()
	}
	return p.Describe(ctx)
}

// Describe reads and vets every library, also built-in ones: that finds the Redis commands that each function may run.
func (p *Project) Describe(ctx context.Context) (*codegen.Tree, error) {
	tree, err := p.load(codegen.Load)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return tree, err
}

// Read reads every library without vetting the Lua. That is enough to call functions and to compare.
func (p *Project) Read() (*codegen.Tree, error) {
	if p.BuiltIn {
		return builtIn()
	}
	return p.load(codegen.Parse)
}

// builtIn reads the built-in libraries, once for the process.
var builtIn = sync.OnceValues(func() (*codegen.Tree, error) {
	tree, found := codegen.Parse(functions.FS, functions.Root, codegen.Options{})
	return tree, found.Err()
})

func (p *Project) load(load func(fs.FS, string, codegen.Options) (*codegen.Tree, codegen.Findings)) (*codegen.Tree, error) {
	fsys := fs.FS(functions.FS)
	if !p.BuiltIn {
		root := filepath.Join(p.Dir, p.Config.Functions)
		if _, err := os.Stat(root); err != nil {
			return nil, fmt.Errorf("no folder %s: %s names it as functions, or by default; the built-in libraries need no %s", root, filepath.Join(p.Dir, ConfigFile), ConfigFile)
		}
		fsys = os.DirFS(root)
	}
	tree, found := load(fsys, filepath.ToSlash(p.Config.Functions), codegen.Options{})
	return tree, found.Err()
}

// UnknownLibrary returns the error for a library that the project does not have, among those that it has.
func (p *Project) UnknownLibrary(name string, has []string) error {
	text := fmt.Sprintf("the project in %s has no library %q%s (libraries: %s)", p.Dir, name, spelling.DidYouMean(name, has), strings.Join(has, ", "))
	if _, err := fs.Stat(functions.FS, name+"/"+codegen.LibraryFile); err == nil {
		text += fmt.Sprintf("; %s is built into rlfunc: to use it, run rlfunc outside the project, or with -C FOLDER", name)
	}
	return errors.New(text)
}

// SetFolders replaces the folders of the Python and TypeScript clients, unless they are "".
func (p *Project) SetFolders(python, typescript string) error {
	if python != "" {
		p.Config.Python = python
	}
	if typescript != "" {
		p.Config.TypeScript = typescript
	}
	p.complete = []string{python, typescript}
	return p.Config.check(p.BuiltIn)
}
