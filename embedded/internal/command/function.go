package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

var functionCommands = []Command{
	{Name: "fcall", Arity: -3, Flags: NoScript, KeysAt: 2, Run: fcall},
	{Name: "fcall_ro", Arity: -3, Flags: NoScript | ReadOnly, KeysAt: 2, Run: fcall},
	{Name: "function", Arity: -2, Flags: NoScript},
	{Name: "function|load", Arity: -3, Flags: NoScript | Write | DenyOOM, Run: functionLoad},
	{Name: "function|list", Arity: -2, Flags: NoScript, Run: functionList},
	{Name: "function|delete", Arity: 3, Flags: NoScript | Write, Run: functionDelete},
	{Name: "function|flush", Arity: -2, Flags: NoScript | Write, Run: functionFlush},
	{Name: "function|stats", Arity: 2, Flags: NoScript | AllowBusy, Run: functionStats},
	{Name: "function|kill", Arity: 2, Flags: NoScript | AllowBusy, Run: func(c *Call) resp.Value { return c.State.Kill() }},
}

// fcall is FCALL and FCALL_RO.
func fcall(c *Call) resp.Value {
	f := c.State.Functions.Find(c.Args[1])
	if f == nil {
		return failure("ERR Function not found")
	}
	n, valid := parseInt(c.Args[2])
	readOnly := is(c.Args[0], "fcall_ro")
	switch {
	case !valid:
		return failure("ERR Bad number of keys provided")
	case n > int64(len(c.Args)-3):
		return failure("ERR Number of keys can't be greater than number of args")
	case n < 0:
		return failure("ERR Number of keys can't be negative")
	case f.noWrites:
	case !f.allowOOM && c.State.overMemory():
		return errOOM
	case readOnly:
		return failure("ERR Can not execute a script with write flag using *_ro command.")
	}
	return c.State.perform(c, f, c.Args[3:3+n], c.Args[3+n:])
}

func functionLoad(c *Call) resp.Value {
	replace := false
	for _, word := range c.Args[2 : len(c.Args)-1] {
		if !is(word, "replace") {
			return failure("ERR Unknown option given: " + word)
		}
		replace = true
	}
	name, err := c.State.Functions.Load(c.Args[len(c.Args)-1], replace)
	if err != nil {
		return refusal(err)
	}
	return bulk(name)
}

// refusal turns an error whose text is Redis's own into a reply.
func refusal(err error) resp.Value {
	text := err.Error()
	if !strings.HasPrefix(text, "ERR ") {
		text = "ERR " + text
	}
	return failure(text)
}

func functionList(c *Call) resp.Value {
	pattern, named, withCode := "", false, false
	for i := 2; i < len(c.Args); i++ {
		switch word := c.Args[i]; {
		case is(word, "withcode") && !withCode:
			withCode = true
		case is(word, "libraryname") && !named:
			if i++; i == len(c.Args) {
				return failure("ERR library name argument was not given")
			}
			pattern, named = c.Args[i], true
		default:
			return failure("ERR Unknown argument " + word)
		}
	}
	var values []resp.Value
	for _, l := range c.State.Functions.Libraries() {
		if named && !matches(lower(pattern), lower(l.Name)) {
			continue
		}
		values = append(values, describeLibrary(l, withCode))
	}
	return array(values)
}

func describeLibrary(l *luahost.Library, withCode bool) resp.Value {
	var list []resp.Value
	for _, f := range l.Functions {
		description := null
		if f.Description != "" {
			description = bulk(f.Description)
		}
		var flags []resp.Value
		for _, flag := range f.Flags {
			flags = append(flags, status(flag))
		}
		list = append(list, dictionary(bulk("name"), bulk(f.Name), bulk("description"), description, bulk("flags"), unordered(flags)))
	}
	values := []resp.Value{bulk("library_name"), bulk(l.Name), bulk("engine"), bulk("LUA"), bulk("functions"), array(list)}
	if withCode {
		values = append(values, bulk("library_code"), bulk(l.Code))
	}
	return dictionary(values...)
}

func functionDelete(c *Call) resp.Value {
	if err := c.State.Functions.Delete(c.Args[2]); err != nil {
		return refusal(err)
	}
	return okay
}

func functionFlush(c *Call) resp.Value {
	if len(c.Args) > 3 {
		return failure("ERR unknown subcommand or wrong number of arguments for 'flush'. Try FUNCTION HELP.")
	}
	if len(c.Args) == 3 && !is(c.Args[2], "sync") && !is(c.Args[2], "async") {
		return failure("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
	}
	c.State.Functions.Flush()
	return okay
}

// functionStats shows a running script once it is busy; before that the question waits until it has ended.
func functionStats(c *Call) resp.Value {
	running := null
	if h := &c.State.host; h.busy {
		var words []resp.Value
		for _, word := range h.command {
			words = append(words, bulk(word))
		}
		running = dictionary(bulk("name"), bulk(h.name), bulk("command"), array(words), bulk("duration_ms"), integer(time.Since(h.since).Milliseconds()))
	}
	return dictionary(
		bulk("running_script"), running,
		bulk("engines"), dictionary(bulk("LUA"), dictionary(
			bulk("libraries_count"), number(len(c.State.Functions.Libraries())),
			bulk("functions_count"), number(c.State.Functions.Len()),
		)),
	)
}

// A Function is one function of a loaded library.
type Function struct {
	Library *luahost.Library
	Name    string

	noWrites, allowOOM bool // those of its flags that have a meaning here
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
		r.functions[strings.ToLower(f.Name)] = &Function{l, f.Name, slices.Contains(f.Flags, "no-writes"), slices.Contains(f.Flags, "allow-oom")}
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
