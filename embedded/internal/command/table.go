// Package command is the table of Redis commands and what each of them does to a keyspace.
//
// The error texts are those of Redis 7.0. Nothing here locks: one State serves one command at a time.
package command

import (
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// Flag says how a command may be used.
type Flag uint16

// The flags.
const (
	Write Flag = 1 << iota
	ReadOnly
	DenyOOM
	NoScript
	Stateful     // acts on the connection: not to be run without one
	AtOnce       // runs within MULTI instead of being queued
	AllowBusy    // runs while a script is busy
	MayReplicate // no write, yet refused where a function may only read
)

// A Command is one row of the table.
type Command struct {
	Name  string // in lower case; container|subcommand
	Arity int    // number of arguments with the name; -n means n or more
	Flags Flag

	// Positions of the keys: from First to Last (negative: from the end) in steps. First 0: no keys, or those at KeysAt.
	First, Last, Step int
	// Position of a number of keys that are right behind it; 0 if there is none.
	KeysAt int
	// Finds the keys where positions cannot say it.
	Locate func(args []string) []string

	// The kind of value at the first key that Run needs and gets as Call.Entry; None if Run looks for itself.
	Of store.Kind
	// The reply where that key is missing.
	Missing resp.Value

	Run func(*Call) resp.Value
	Sub map[string]*Command

	index int
}

// Lookup finds the row for args, which hold at least a name. It is nil if there is none.
func Lookup(name string) *Command {
	if c := commands[name]; c != nil {
		return c
	}
	return commands[lower(name)]
}

// do runs the command.
func (c *Command) do(call *Call) resp.Value {
	if c.Of != store.None {
		e, otherwise := call.at(c.Of, c.Missing)
		if e == nil {
			return otherwise
		}
		call.Entry = e
	}
	return c.Run(call)
}

// accepts reports whether n arguments are a legal number.
func (c *Command) accepts(n int) bool {
	return n == c.Arity || c.Arity < 0 && n >= -c.Arity
}

// keys visits the keys among args until visit returns false.
func (c *Command) keys(args []string, visit func(key string) bool) {
	if c.First > 0 {
		last := c.Last
		if last < 0 {
			last += len(args)
		}
		for i := c.First; i <= last && i < len(args); i += c.Step {
			if !visit(args[i]) {
				return
			}
		}
	}
	if c.Locate != nil {
		for _, key := range c.Locate(args) {
			if !visit(key) {
				return
			}
		}
	}
	if c.KeysAt > 0 && c.KeysAt < len(args) {
		n, ok := parseInt(args[c.KeysAt])
		if !ok || n < 0 || n > int64(len(args)-c.KeysAt-1) {
			return
		}
		for _, key := range args[c.KeysAt+1 : c.KeysAt+1+int(n)] {
			if !visit(key) {
				return
			}
		}
	}
}

var (
	commands map[string]*Command // every row that is not a subcommand, under its name in lower and in upper case
	rows     []*Command
)

func init() {
	commands = make(map[string]*Command)
	for _, family := range [][]Command{
		keyCommands, expiryCommands, stringCommands, listCommands, hashCommands, setCommands,
		zsetCommands, zrangeCommands, streamCommands, functionCommands, transactionCommands,
		connectionCommands, serverCommands,
	} {
		for i := range family {
			c := &family[i]
			c.index = len(rows)
			rows = append(rows, c)
			container, sub, _ := strings.Cut(c.Name, "|")
			if sub == "" {
				commands[c.Name] = c
				commands[strings.ToUpper(c.Name)] = c
				continue
			}
			parent := commands[container]
			if parent.Sub == nil {
				parent.Sub = make(map[string]*Command)
			}
			parent.Sub[sub] = c
		}
	}
}

// lower is strings.ToLower, without its cost where nothing changes.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			return strings.ToLower(s)
		}
	}
	return s
}

// is compares an option's word without case.
func is(s, word string) bool { return len(s) == len(word) && strings.EqualFold(s, word) }

func upper(s string) string { return strings.ToUpper(s) }

// A Call is one command being run.
type Call struct {
	State   *State
	Session *Session
	DB      *store.DB
	Entry   *store.Entry // see Command.Of
	Args    []string     // with the command's name; not to be kept
	Micros  int64        // the server's time, in microseconds since the Unix epoch; it stands still within an FCALL or an EXEC
	Now     int64        // the same in milliseconds

	Scripted bool // a function or script runs the command
}

// find looks key up. The entry is nil if there is none; ok is false if it holds another kind of value.
func (c *Call) find(key string, kind store.Kind) (e *store.Entry, ok bool) {
	e = c.DB.Get(key, c.Now)
	return e, e == nil || e.Kind == kind
}

// at looks up the command's first key. The entry is nil if there is none, or one of another kind; the reply is for that.
func (c *Call) at(kind store.Kind, missing resp.Value) (*store.Entry, resp.Value) {
	e, fits := c.find(c.Args[1], kind)
	if !fits {
		return nil, errWrongType
	}
	return e, missing
}

// obtain is find for a command that makes the key where it is missing.
func (c *Call) obtain(key string, kind store.Kind) (e *store.Entry, ok bool) {
	if e = c.DB.Get(key, c.Now); e == nil {
		return c.DB.Create(key, kind), true
	}
	return e, e.Kind == kind
}

// length is LLEN, HLEN and their like.
func length(c *Call) resp.Value { return number(c.Entry.Len()) }

// keep stores the result of SUNIONSTORE and its like, which replaces what the key held, and answers how many elements it has.
func (c *Call) keep(key string, e store.Entry) resp.Value {
	if e.Len() == 0 {
		c.DB.Delete(key)
		return zero
	}
	e.Expire = store.Never
	return number(c.DB.Put(key, e).Len())
}

// remove is HDEL, SREM and ZREM.
func (c *Call) remove(from func(member string) bool) resp.Value {
	n := 0
	for _, member := range c.Args[2:] {
		if from(member) {
			n++
		}
	}
	if n > 0 {
		c.DB.Written(c.Args[1], c.Entry)
	}
	return number(n)
}

// arity refuses a number of arguments that the command's arity alone does not exclude.
func (c *Call) arity() resp.Value { return wrongArity(lower(c.Args[0])) }
