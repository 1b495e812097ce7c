package command

import "github.com/rlfunc/rlfunc/embedded/internal/reply"

var databaseCommands = []Command{
	{Name: "move", Arity: 3, Flags: Write | Fast, First: 1, Last: 1, Step: 1, Run: moveKey},
	{Name: "swapdb", Arity: 3, Flags: Write | Fast, Run: swapDB},
}

var errDBIndex = failure("ERR DB index is out of range")

// parseDB reads the index of a database.
func parseDB(text string) (n int, problem reply.Value) {
	i, valid := parseInt(text)
	switch {
	case !valid:
		return 0, errNotInt
	case i < 0 || i >= Databases:
		return 0, errDBIndex
	}
	return int(i), okay
}

// moveKey is MOVE.
func moveKey(c *Call) reply.Value {
	n, problem := parseDB(c.Args[2])
	if problem.Kind == reply.Error {
		return problem
	}
	target, key := &c.State.DBs[n], c.Args[1]
	if target == c.DB {
		return failure("ERR source and destination objects are the same")
	}
	e := c.DB.Get(key, c.Now)
	if e == nil || target.Get(key, c.Now) != nil {
		return zero
	}
	moved := *e
	c.DB.Delete(key)
	target.Put(key, moved)
	return one
}

func swapDB(c *Call) reply.Value {
	var dbs [2]int64
	for i, which := range []string{"first", "second"} {
		n, valid := parseInt(c.Args[1+i])
		if !valid {
			return failure("ERR invalid " + which + " DB index")
		}
		dbs[i] = n
	}
	for _, n := range dbs {
		if n < 0 || n >= Databases {
			return errDBIndex
		}
	}
	c.State.DBs[dbs[0]].Swap(&c.State.DBs[dbs[1]], c.Now)
	return okay
}
