package command

import (
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// Version is the release of Redis that INFO and HELLO claim: the one whose functions behave most like the ones here.
const Version = luahost.Version

var serverCommands = []Command{
	{Name: "time", Arity: 1, Flags: Fast, Run: timeNow},
	{Name: "info", Arity: -1, Run: info},
	{Name: "role", Arity: 1, Flags: NoScript | Fast, Run: role},
	{Name: "wait", Arity: 3, Flags: NoScript, Run: wait},
	{Name: "readonly", Arity: 1, Flags: Fast, Run: noCluster},
	{Name: "readwrite", Arity: 1, Flags: Fast, Run: noCluster},
	{Name: "asking", Arity: 1, Flags: Fast, Run: noCluster},
	{Name: "cluster", Arity: -2, Run: noCluster},
	{Name: "acl", Arity: -2, Flags: NoScript},
	{Name: "acl|whoami", Arity: 2, Flags: NoScript, Run: func(*Call) reply.Value { return bulk("default") }},
	{Name: "config", Arity: -2, Flags: NoScript | Admin},
	{Name: "config|get", Arity: -3, Flags: NoScript | Admin, Run: configGet},
	{Name: "config|set", Arity: -4, Flags: NoScript | Admin, Run: configSet},
	{Name: "config|resetstat", Arity: 2, Flags: NoScript | Admin, Run: configResetStat},
	{Name: "command", Arity: -1, Run: commandAll},
	{Name: "command|count", Arity: 2, Run: func(*Call) reply.Value { return number(len(commands) / 2) }},
	{Name: "command|docs", Arity: -2, Run: func(*Call) reply.Value { return maps() }},
	{Name: "command|info", Arity: -2, Run: commandInfo},
	{Name: "debug", Arity: -2, Flags: NoScript | Admin, Run: debug},
}

func timeNow(c *Call) reply.Value {
	seconds := c.Micros / 1_000_000
	return array([]reply.Value{bulk(itoa(seconds)), bulk(itoa(c.Micros - seconds*1_000_000))})
}

func role(*Call) reply.Value {
	return array([]reply.Value{bulk("master"), zero, none})
}

// wait answers at once: there are no replicas.
func wait(c *Call) reply.Value {
	if _, valid := parseInt(c.Args[1]); !valid {
		return errNotInt
	}
	if n, valid := parseInt(c.Args[2]); !valid {
		return failure("ERR timeout is not an integer or out of range")
	} else if n < 0 {
		return failure("ERR timeout is negative")
	}
	return zero
}

func noCluster(*Call) reply.Value {
	return failure("ERR This instance has cluster support disabled")
}

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

// debug is those subcommands of DEBUG that tests of other software use.
func debug(c *Call) reply.Value {
	words := c.Args[2:]
	switch sub := lower(c.Args[1]); {
	case sub == "set-active-expire" && len(words) == 1:
		n, _ := parseInt(words[0])
		c.State.lazyOnly = n == 0
		return okay
	case sub == "reload" && len(words) == 0:
		c.State.reload()
		return okay
	case sub == "quicklist-packed-threshold" && len(words) == 1:
		// Lists have one form here.
		if _, valid := parseMemory(words[0]); !valid {
			return failure("ERR argument must be a memory value bigger than 1 and smaller than 4gb")
		}
		return okay
	}
	return failure("ERR unknown subcommand or wrong number of arguments for '" + clip(c.Args[1]) + "'. Try DEBUG HELP.")
}

// reload makes all keys and libraries from copies of them, as they would come out of a file.
func (s *State) reload() {
	snapshot := s.Snapshot()
	s.Functions.Flush()
	s.Restore(snapshot)
}
