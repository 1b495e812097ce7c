package command

import "github.com/rlfunc/rlfunc/embedded/internal/reply"

// The channel of SPUBLISH counts as a key: in a cluster it has a slot, and a function has to be called on the node of that slot.
var publishCommands = []Command{
	{Name: "publish", Arity: 3, Flags: Fast | MayReplicate, Run: publish},
	{Name: "spublish", Arity: 3, Flags: Fast | MayReplicate, First: 1, Last: 1, Step: 1, Run: publish},
}

// publish answers how many clients got the message. None can: there is no SUBSCRIBE here.
func publish(*Call) reply.Value { return zero }
