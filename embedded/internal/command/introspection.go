package command

import (
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/glob"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// topLevel is every row that is not a subcommand, by name.
func topLevel() []*Command {
	var all []*Command
	for name, cmd := range commands {
		if name == cmd.Name {
			all = append(all, cmd)
		}
	}
	slices.SortFunc(all, func(a, b *Command) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (c *Command) describe() reply.Value {
	var flags []reply.Value
	for i, name := range flagNames {
		if c.Flags&(1<<i) != 0 {
			flags = append(flags, status(name))
		}
	}
	if c.KeysAt > 0 || c.Locate != nil {
		flags = append(flags, status("movablekeys"))
	}
	return array([]reply.Value{
		bulk(c.Name), number(c.Arity), unordered(flags), number(c.First), number(c.Last), number(c.Step), unordered(nil), none, none, none,
	})
}

func commandAll(c *Call) reply.Value {
	var values []reply.Value
	for _, cmd := range topLevel() {
		values = append(values, cmd.describe())
	}
	return array(values)
}

// commandList lists commands and subcommands. There are no modules and no categories.
func commandList(c *Call) reply.Value {
	pattern := "*"
	if len(c.Args) > 2 {
		switch {
		case len(c.Args) != 5 || !is(c.Args[2], "filterby"):
			return errSyntax
		case is(c.Args[3], "pattern"):
			pattern = lower(c.Args[4])
		case is(c.Args[3], "module"), is(c.Args[3], "aclcat"):
			return none
		default:
			return errSyntax
		}
	}
	values := []reply.Value{}
	for _, cmd := range rows {
		if glob.Match(pattern, cmd.Name) {
			values = append(values, bulk(cmd.Name))
		}
	}
	return array(values)
}

func commandInfo(c *Call) reply.Value {
	if len(c.Args) == 2 {
		return commandAll(c)
	}
	var values []reply.Value
	for _, name := range c.Args[2:] {
		if cmd := Lookup(name); cmd != nil {
			values = append(values, cmd.describe())
		} else {
			values = append(values, null)
		}
	}
	return array(values)
}

func commandGetKeys(c *Call) reply.Value {
	args := c.Args[2:]
	cmd, problem := resolve(args)
	if problem.Kind == reply.Error {
		if Lookup(args[0]) == nil {
			return failure("ERR Invalid command specified")
		}
		return failure("ERR Invalid number of arguments specified for command")
	}
	var values []reply.Value
	cmd.keys(args, func(key string) bool {
		values = append(values, bulk(key))
		return true
	})
	switch {
	case values != nil:
	case cmd.KeysAt > 0 && cmd.Flags&NoScript != 0: // EVAL and FCALL need none
		return none
	case cmd.First > 0 || cmd.KeysAt > 0 || cmd.Locate != nil:
		return failure("ERR Invalid arguments specified for command")
	default:
		return failure("ERR The command has no key arguments")
	}
	return array(values)
}
