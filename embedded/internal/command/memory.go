package command

import "github.com/rlfunc/rlfunc/embedded/internal/reply"

var memoryCommands = []Command{
	{Name: "memory", Arity: -2},
	{Name: "memory|usage", Arity: -3, Flags: ReadOnly, First: 2, Last: 2, Step: 1, Run: memoryUsage},
}

// memoryUsage is what the key adds to used_memory. There are no samples: elements are counted as they are written.
func memoryUsage(c *Call) reply.Value {
	for words := c.Args[3:]; len(words) > 0; words = words[2:] {
		if len(words) < 2 || !is(words[0], "samples") {
			return errSyntax
		}
		n, valid := parseInt(words[1])
		switch {
		case !valid:
			return errNotInt
		case n < 0:
			return errSyntax
		}
	}
	e := c.DB.Get(c.Args[2], c.Now)
	if e == nil {
		return null
	}
	return integer(e.Size())
}
