package command

import (
	"slices"
	"strings"

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
