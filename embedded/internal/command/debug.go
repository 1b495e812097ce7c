package command

import "github.com/rlfunc/rlfunc/embedded/internal/reply"

var debugCommands = []Command{
	{Name: "debug", Arity: -2, Flags: NoScript | Admin, Run: debug},
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
