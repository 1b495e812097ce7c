package command

import (
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// Flag says how a command may be used.
type Flag uint16

// The flags, named as COMMAND names them.
const (
	Write Flag = 1 << iota
	ReadOnly
	DenyOOM
	NoScript
	Fast
	Admin
	Stateful     // acts on the connection: not to be run without one
	AtOnce       // runs within MULTI instead of being queued
	AllowBusy    // runs while a script is busy
	MayReplicate // no write, yet refused where a function may only read
)

var flagNames = []string{"write", "readonly", "denyoom", "noscript", "fast", "admin"}

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
	Missing reply.Value

	Run func(*Call) reply.Value
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
func (c *Command) do(call *Call) reply.Value {
	if c.Of != store.None {
		e, fits := call.find(call.Args[1], c.Of)
		switch {
		case !fits:
			return errWrongType
		case e == nil:
			return c.Missing
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
		keyCommands, expiryCommands, stringCommands, bitCommands, hyperloglogCommands, listCommands, hashCommands, setCommands,
		zsetCommands, zrangeCommands, zalgebraCommands, streamCommands, functionCommands, evalCommands, transactionCommands,
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
