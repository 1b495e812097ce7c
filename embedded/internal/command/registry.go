package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
)

// A Function is one function of a loaded library.
type Function struct {
	Library *luahost.Library
	Name    string
	flags   flagsOfScript
}

// Registry holds the libraries of a server. Its zero value is empty and ready.
type Registry struct {
	Observer luahost.Observer // of all libraries; or nil

	libraries map[string]*luahost.Library
	functions map[string]*Function // by name in lower case: names are compared without case
}

// Len is the number of functions.
func (r *Registry) Len() int { return len(r.functions) }

// Bytes is the size of the code.
func (r *Registry) Bytes() int64 {
	n := 0
	for _, l := range r.libraries {
		n += len(l.Code)
	}
	return int64(n)
}

// Find returns the function of this name, or nil.
func (r *Registry) Find(name string) *Function {
	if f := r.functions[name]; f != nil {
		return f
	}
	return r.functions[strings.ToLower(name)]
}

// Libraries returns all libraries by name.
func (r *Registry) Libraries() []*luahost.Library {
	all := make([]*luahost.Library, 0, len(r.libraries))
	for _, l := range r.libraries {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *luahost.Library) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Codes returns the sources of all libraries, by name.
func (r *Registry) Codes() []string {
	var codes []string
	for _, l := range r.Libraries() {
		codes = append(codes, l.Code)
	}
	return codes
}

// Load compiles a library and adds it, in place of one of the same name if replace is set. After an error nothing has changed.
func (r *Registry) Load(code string, replace bool) (name string, err error) {
	if name, err = luahost.Name(code); err != nil {
		return "", err
	}
	// Redis refuses a name that is taken before it looks at the code.
	if err := r.taken(name, replace); err != nil {
		return "", err
	}
	l, err := luahost.Load(code, r.Observer)
	if err != nil {
		return "", err
	}
	if err := r.add(l, replace); err != nil {
		return "", err
	}
	return l.Name, nil
}

func (r *Registry) taken(name string, replace bool) error {
	if r.libraries[name] != nil && !replace {
		//lint:ignore ST1005 Redis's own text
		return fmt.Errorf("Library '%s' already exists", name)
	}
	return nil
}

func (r *Registry) add(l *luahost.Library, replace bool) error {
	if err := r.taken(l.Name, replace); err != nil {
		return err
	}
	old := r.libraries[l.Name]
	for _, f := range l.Functions {
		if held := r.functions[strings.ToLower(f.Name)]; held != nil && held.Library != old {
			return fmt.Errorf("Function %s already exists", f.Name)
		}
	}
	if old != nil {
		r.remove(old)
	}
	if r.libraries == nil {
		r.libraries, r.functions = make(map[string]*luahost.Library), make(map[string]*Function)
	}
	r.libraries[l.Name] = l
	for _, f := range l.Functions {
		r.functions[strings.ToLower(f.Name)] = &Function{l, f.Name, scriptFlags(f.Flags)}
	}
	return nil
}

func (r *Registry) remove(l *luahost.Library) {
	for _, f := range l.Functions {
		delete(r.functions, strings.ToLower(f.Name))
	}
	delete(r.libraries, l.Name)
}

// Delete removes a library.
func (r *Registry) Delete(name string) error {
	l := r.libraries[name]
	if l == nil {
		//lint:ignore ST1005 Redis's own text
		return errors.New("Library not found")
	}
	r.remove(l)
	return nil
}

// Flush removes all libraries.
func (r *Registry) Flush() { *r = Registry{Observer: r.Observer} }
