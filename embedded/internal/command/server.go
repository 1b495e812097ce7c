package command

import (
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
