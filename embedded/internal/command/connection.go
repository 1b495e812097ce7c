package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

var connectionCommands = []Command{
	{Name: "ping", Arity: -1, Flags: Fast, Run: ping},
	{Name: "echo", Arity: 2, Flags: Fast, Run: func(c *Call) reply.Value { return bulk(c.Args[1]) }},
	{Name: "select", Arity: 2, Flags: Fast | Stateful, Run: selectDB},
	{Name: "auth", Arity: -2, Flags: AllowBusy | NoScript | Fast, Run: auth},
	{Name: "hello", Arity: -1, Flags: AllowBusy | NoScript | Fast | Stateful, Run: hello},
	{Name: "quit", Arity: -1, Flags: AllowBusy | NoScript | Fast | AtOnce | Stateful, Run: quit},
	{Name: "reset", Arity: 1, Flags: AllowBusy | NoScript | Fast | AtOnce | Stateful, Run: reset},
	{Name: "client", Arity: -2, Flags: NoScript},
	{Name: "client|setname", Arity: 3, Flags: NoScript, Run: clientSetName},
	{Name: "client|getname", Arity: 2, Flags: NoScript, Run: clientGetName},
	{Name: "client|setinfo", Arity: 4, Flags: NoScript, Run: clientSetInfo},
	{Name: "client|id", Arity: 2, Flags: NoScript, Run: func(c *Call) reply.Value { return integer(c.Session.ID) }},
	{Name: "client|list", Arity: -2, Flags: NoScript | Admin, Run: clientList},
	{Name: "client|info", Arity: 2, Flags: NoScript, Run: func(c *Call) reply.Value { return document(c.Session.describe()) }},
	{Name: "publish", Arity: 3, Flags: Fast | MayReplicate, Run: publish},
	{Name: "spublish", Arity: 3, Flags: Fast | MayReplicate, First: 1, Last: 1, Step: 1, Run: publish},
}

func ping(c *Call) reply.Value {
	switch len(c.Args) {
	case 1:
		return status("PONG")
	case 2:
		return bulk(c.Args[1])
	}
	return c.arity()
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

func selectDB(c *Call) reply.Value {
	n, problem := parseDB(c.Args[1])
	if problem.Kind == reply.Error {
		return problem
	}
	c.Session.DB = n
	return okay
}

func auth(c *Call) reply.Value {
	switch {
	case len(c.Args) > 3:
		return errSyntax
	case len(c.Args) == 2:
		return failure("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	case c.Args[1] == "default":
		return okay // the default user has no password: any will do
	}
	return failure("WRONGPASS invalid username-password pair or user is disabled.")
}

func hello(c *Call) reply.Value {
	words, protocol := c.Args[1:], c.Session.Protocol
	if len(words) > 0 {
		n, valid := parseInt(words[0])
		switch {
		case !valid:
			return failure("ERR Protocol version is not an integer or out of range")
		case n != 2 && n != 3:
			return failure("NOPROTO unsupported protocol version")
		}
		words, protocol = words[1:], int(n)
	}
	name, named := "", false
	for len(words) > 0 {
		switch {
		case is(words[0], "auth") && len(words) > 2:
			if words[1] != "default" {
				return failure("WRONGPASS invalid username-password pair or user is disabled.")
			}
			words = words[3:]
		case is(words[0], "setname") && len(words) > 1:
			if !plainName(words[1]) {
				return errClientName
			}
			name, named = words[1], true
			words = words[2:]
		default:
			return failure("ERR Syntax error in HELLO option '" + cText(words[0]) + "'")
		}
	}
	if named {
		c.Session.Name = name
	}
	c.Session.Protocol = protocol
	return maps(
		bulk("server"), bulk("redis"), bulk("version"), bulk(Version), bulk("proto"), number(protocol), bulk("id"), integer(c.Session.ID),
		bulk("mode"), bulk("standalone"), bulk("role"), bulk("master"), bulk("modules"), none,
	)
}

func quit(c *Call) reply.Value {
	c.Session.Closing = true
	return okay
}

func reset(c *Call) reply.Value {
	c.Session.discard(c.State)
	c.Session.DB, c.Session.Name, c.Session.Protocol = 0, "", 2
	return status("RESET")
}

func plainName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' })
}

var errClientName = failure("ERR Client names cannot contain spaces, newlines or special characters.")

func clientSetName(c *Call) reply.Value {
	if !plainName(c.Args[2]) {
		return errClientName
	}
	c.Session.Name = c.Args[2]
	return okay
}

func clientGetName(c *Call) reply.Value {
	if c.Session.Name == "" {
		return null
	}
	return bulk(c.Session.Name)
}

func clientSetInfo(c *Call) reply.Value {
	var field *string
	switch lower(c.Args[2]) {
	case "lib-name":
		field = &c.Session.Library
	case "lib-ver":
		field = &c.Session.Version
	default:
		return failure("ERR Unrecognized option '" + cText(c.Args[2]) + "'")
	}
	if !plainName(c.Args[3]) {
		return failure("ERR " + lower(c.Args[2]) + " cannot contain spaces, newlines or special characters.")
	}
	*field = c.Args[3]
	return okay
}

func clientList(c *Call) reply.Value {
	all := make([]*Session, 0, len(c.State.sessions))
	for _, session := range c.State.sessions {
		all = append(all, session)
	}
	slices.SortFunc(all, func(a, b *Session) int { return int(a.ID - b.ID) })
	var b strings.Builder
	for _, session := range all {
		b.WriteString(session.describe())
	}
	return document(b.String())
}

func (session *Session) describe() string {
	return fmt.Sprintf("id=%d addr=%s name=%s db=%d multi=%d watch=%d lib-name=%s lib-ver=%s resp=%d\n",
		session.ID, session.Addr, session.Name, session.DB, len(session.queue), len(session.watched), session.Library, session.Version, session.Protocol)
}

// publish answers how many clients got the message. None can: there is no SUBSCRIBE here. The channel of SPUBLISH counts as a key: in a
// cluster it has a slot, and a function has to be called on the node of that slot.
func publish(*Call) reply.Value { return zero }
