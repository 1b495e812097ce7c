// Package source reads a tree of annotated Lua: libraries, their functions, and the lib files that they share.
//
//	<root>/lib/<name>.lua            shared Lua
//	<root>/lib/<folder>/<name>.lua   the same; names are unique across folders
//	<root>/<library>/library.lua     name, version and doc of a library
//	<root>/<library>/<function>.lua  one public function
package source

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// LibDir is the folder of shared Lua.
const LibDir = "lib"

// LibraryFile declares a library.
const LibraryFile = "library.lua"

// A Tree is everything below one root.
type Tree struct {
	Root      string // how the author calls the root, "functions"; it begins every path in messages and bundles
	Libraries []*Library
	Libs      map[string]*annotation.Lib // by name
}

// A Library is one folder: the contract, and its Lua.
type Library struct {
	Spec  spec.Library
	Root  string
	Files []*luasrc.File    // one a function, in the order of Spec.Functions
	Libs  []*annotation.Lib // what the functions use, each behind what it uses itself
}

// Library finds a library by its name.
func (t *Tree) Library(name string) (*Library, bool) {
	for _, lib := range t.Libraries {
		if lib.Spec.Name == name {
			return lib, true
		}
	}
	return nil, false
}

// Options of Load; the zero value reads the tree unchanged.
type Options struct {
	// Replace replaces the text of lib files, by name: tests replace the clock. Defaults to none.
	Replace map[string]string
}

type loader struct {
	fsys  fs.FS
	tree  *Tree
	opts  Options
	found diag.List
}

// Load reads a tree. It returns all errors of the annotations at once. A file system error, or a
// tree without a library, is one finding of the rule file.
func Load(fsys fs.FS, root string, opts Options) (*Tree, diag.List) {
	l := &loader{fsys: fsys, opts: opts, tree: &Tree{Root: root, Libs: map[string]*annotation.Lib{}}}
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		l.found.Add(root, 1, 1, annotation.RuleFile, "read the source tree: %v", unwrap(err))
		return l.tree, l.found
	}
	l.libFiles()
	for _, e := range entries {
		if e.Name() != LibDir && !strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(e.Name(), "_") && l.isFolder(e) {
			l.library(e.Name())
		}
	}
	if len(l.tree.Libraries) == 0 && len(l.found) == 0 {
		l.found.Add(root, 1, 1, annotation.RuleFile, "no library found: a library is a folder with a %s", LibraryFile)
	}
	l.unusedLibs()
	l.found.Sort()
	return l.tree, l.found
}

// isFolder also follows a link. One that leads nowhere is a finding: it may stand for a library.
func (l *loader) isFolder(e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	to, err := fs.Stat(l.fsys, e.Name())
	if err != nil {
		l.found.Add(path.Join(l.tree.Root, e.Name()), 1, 1, annotation.RuleFile, "follow the link: %v", unwrap(err))
		return false
	}
	return to.IsDir()
}

func unwrap(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// parse parses one file; nil if it is not Lua.
func (l *loader) parse(name, text string) *luasrc.File {
	f, found := luasrc.Parse(path.Join(l.tree.Root, name), text)
	l.found = append(l.found, found...)
	return f
}

func (l *loader) read(name string) (string, bool) {
	b, err := fs.ReadFile(l.fsys, name)
	if err != nil {
		l.found.Add(path.Join(l.tree.Root, name), 1, 1, annotation.RuleFile, "read the file: %v", unwrap(err))
		return "", false
	}
	// A checkout with CRLF must generate the same bundle as one without.
	return strings.ReplaceAll(string(b), "\r\n", "\n"), true
}

func (l *loader) libFiles() {
	top, _ := fs.Glob(l.fsys, LibDir+"/*.lua")
	nested, _ := fs.Glob(l.fsys, LibDir+"/*/*.lua")
	for _, file := range slices.Concat(top, nested) {
		name := strings.TrimSuffix(path.Base(file), ".lua")
		if other, exists := l.tree.Libs[name]; exists {
			l.found.Add(path.Join(l.tree.Root, file), 1, 1, annotation.RuleFile, "%s already has this name: @use needs a unique one", other.File.Path)
			continue
		}
		text, ok := l.opts.Replace[name]
		if !ok {
			if text, ok = l.read(file); !ok {
				continue
			}
		}
		f := l.parse(file, text)
		if f == nil {
			continue
		}
		lib, found := annotation.LibFile(f, name)
		l.found = append(l.found, found...)
		l.tree.Libs[name] = &lib
	}
	for name := range l.tree.Libs {
		l.cycle(name, nil)
	}
}

// cycle reports each cycle of lib files once, at the file that is first in alphabetical order.
func (l *loader) cycle(name string, path []string) {
	lib, ok := l.tree.Libs[name]
	if !ok {
		return
	}
	if i := slices.Index(path, name); i >= 0 {
		round := path[i:]
		if name == slices.Min(round) {
			l.found.Add(lib.File.Path, 1, 1, annotation.RuleUse, "lib files use each other in a cycle: %s", strings.Join(append(round, name), " -> "))
		}
		return
	}
	for _, used := range lib.Uses {
		l.cycle(used, append(slices.Clone(path), name))
	}
}

func (l *loader) library(dir string) {
	text, err := fs.ReadFile(l.fsys, path.Join(dir, LibraryFile))
	if err != nil {
		l.found.Add(path.Join(l.tree.Root, dir, LibraryFile), 1, 1, annotation.RuleVersion,
			"missing %s: it holds the library's header, a sentence and `--- @library %s 1.0.0`", LibraryFile, dir)
		return
	}
	f := l.parse(path.Join(dir, LibraryFile), strings.ReplaceAll(string(text), "\r\n", "\n"))
	if f == nil {
		return
	}
	declared, found := annotation.Library(f)
	l.found = append(l.found, found...)
	lib := &Library{Spec: declared, Root: l.tree.Root}
	lib.Spec.Name = dir
	major, _, _ := strings.Cut(declared.Version, ".")
	lib.Spec.Server = dir + "_v" + major
	names, _ := fs.Glob(l.fsys, dir+"/*.lua")
	for _, name := range names {
		if path.Base(name) != LibraryFile {
			l.function(lib, name)
		}
	}
	if len(lib.Spec.Functions) == 0 && len(names) <= 1 {
		l.found.Add(f.Path, 1, 1, annotation.RuleFile, "library %s has no functions: add a file %s/%s/<function>.lua", dir, l.tree.Root, dir)
	}
	for i := range lib.Spec.Functions {
		l.use(lib, lib.Files[i], lib.Spec.Functions[i].Uses)
	}
	l.lasting(lib)
	if len(l.found) == 0 { // a circle would not end
		l.states(lib)
	}
	l.tree.Libraries = append(l.tree.Libraries, lib)
}

func (l *loader) function(lib *Library, name string) {
	text, ok := l.read(name)
	if !ok {
		return
	}
	f := l.parse(name, text)
	if f == nil {
		return
	}
	fn, found := annotation.Function(f, l.tree.Libs)
	l.found = append(l.found, found...)
	fn.Server = lib.Spec.Server + "_" + fn.Name
	lib.Spec.Functions = append(lib.Spec.Functions, fn)
	lib.Files = append(lib.Files, f)
}

// use appends the named lib files, each after what it uses itself.
func (l *loader) use(lib *Library, by *luasrc.File, names []string) {
	for _, name := range names {
		used, ok := l.tree.Libs[name]
		if !ok {
			line, col := usePlace(by, name)
			l.found.Add(by.Path, line, col, annotation.RuleUse, "no file %s.lua in %s/%s%s", name, l.tree.Root, LibDir,
				spelling.DidYouMean(name, slices.Sorted(maps.Keys(l.tree.Libs))))
			continue
		}
		if slices.Contains(lib.Libs, used) || slices.Contains(used.Uses, name) {
			continue
		}
		if len(l.found) == 0 { // a circle would not end
			l.use(lib, used.File, used.Uses)
		}
		lib.Libs = append(lib.Libs, used)
	}
}

// usePlace returns the position at which a file names a lib file. The name may be any bytes, because no such file exists.
func usePlace(f *luasrc.File, name string) (line, col int) {
	const tag = "@use"
	for _, c := range f.Comments {
		at := strings.Index(c.Text, tag)
		if at < 0 {
			continue
		}
		for at += len(tag); at < len(c.Text); {
			end := at + strings.IndexAny(c.Text[at:]+" ", " \t,")
			if c.Text[at:end] == name {
				return c.Line, c.Col + at
			}
			at = end + 1
		}
	}
	return 1, 1
}

// unusedLibs finds lib files that a file names but does not use.
func (l *loader) unusedLibs() {
	for _, lib := range l.tree.Libraries {
		for i, f := range lib.Files {
			fn := &lib.Spec.Functions[i]
			l.checkUses(f, fn.Uses, slices.Concat(fn.Params, fn.Results))
		}
	}
	for _, lib := range l.tree.Libs {
		l.checkUses(lib.File, lib.Uses, nil)
	}
}

func (l *loader) checkUses(f *luasrc.File, uses []string, fields []spec.Field) {
	for _, name := range uses {
		if _, exists := l.tree.Libs[name]; !exists {
			continue // said already
		}
		used := slices.ContainsFunc(f.Tokens, func(t ast.Token) bool { return t.Str == name }) ||
			slices.ContainsFunc(fields, func(g spec.Field) bool { return g.Rows == name })
		if !used {
			line, col := usePlace(f, name)
			l.found.Add(f.Path, line, col, annotation.RuleUse, "%s is never used: remove it from @use", name)
		}
	}
}

// states adds to each function the states that its lib files store in Redis. Two files of a library may store the same state, if they
// agree on its shape.
func (l *loader) states(lib *Library) {
	shapes := map[string]spec.State{}
	agree := func(states []spec.State) {
		for _, s := range states {
			first, seen := shapes[s.Name]
			if !seen {
				shapes[s.Name] = s
			} else if first.Number != s.Number {
				l.found.Add(s.File, s.Line, s.Col, annotation.RuleState, "the shape of %s is number %d here, and %d in %s:%d",
					s.Name, s.Number, first.Number, first.File, first.Line)
			}
		}
	}
	for i := range lib.Spec.Functions {
		fn := &lib.Spec.Functions[i]
		agree(fn.States)
		for _, used := range l.reach(fn.Uses, nil) {
			agree(used.States)
			for _, s := range used.States {
				if !slices.ContainsFunc(fn.States, func(t spec.State) bool { return s.Name == t.Name }) {
					fn.States = append(fn.States, s)
				}
			}
		}
	}
}

// reach appends the named lib files and what they use, each once.
func (l *loader) reach(names []string, seen []*annotation.Lib) []*annotation.Lib {
	for _, name := range names {
		if used := l.tree.Libs[name]; used != nil && !slices.Contains(seen, used) {
			seen = l.reach(used.Uses, append(seen, used))
		}
	}
	return seen
}

// lasting finds keys that one function of a library keeps forever and another does not: they are the same key in Redis.
func (l *loader) lasting(lib *Library) {
	type first struct {
		forever  bool
		function string
	}
	seen := map[string]first{}
	for i := range lib.Spec.Functions {
		fn := &lib.Spec.Functions[i]
		fn.EachKey(func(k spec.Field, words []string) {
			for _, word := range words {
				f, known := seen[word]
				switch {
				case !known:
					seen[word] = first{k.Forever, fn.Name}
				case f.forever && !k.Forever:
					l.found.Add(cmp.Or(k.File, fn.File), k.Line, k.Col, annotation.RuleKeys, "%s keeps the key that ends in %s forever: say so here, too", f.function, word)
				case !f.forever && k.Forever:
					l.found.Add(cmp.Or(k.File, fn.File), k.Line, k.Col, annotation.RuleKeys, "%s lets the key that ends in %s expire: say forever there, too, or not here", f.function, word)
				}
			}
		})
	}
}
