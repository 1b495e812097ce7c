package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var connectionCommands = []Command{
	{Name: "ping", Arity: -1, Run: ping},
	{Name: "echo", Arity: 2, Run: func(c *Call) resp.Value { return bulk(c.Args[1]) }},
	{Name: "select", Arity: 2, Flags: Stateful, Run: selectDB},
	{Name: "auth", Arity: -2, Flags: AllowBusy | NoScript, Run: auth},
	{Name: "hello", Arity: -1, Flags: AllowBusy | NoScript | Stateful, Run: hello},
	{Name: "quit", Arity: -1, Flags: AllowBusy | NoScript | AtOnce | Stateful, Run: quit},
	{Name: "reset", Arity: 1, Flags: AllowBusy | NoScript | AtOnce | Stateful, Run: reset},
	{Name: "client", Arity: -2, Flags: NoScript},
	{Name: "client|setname", Arity: 3, Flags: NoScript, Run: clientSetName},
	{Name: "client|getname", Arity: 2, Flags: NoScript, Run: clientGetName},
	{Name: "client|setinfo", Arity: 4, Flags: NoScript, Run: clientSetInfo},
	{Name: "client|id", Arity: 2, Flags: NoScript, Run: func(c *Call) resp.Value { return integer(c.Session.ID) }},
	{Name: "client|list", Arity: -2, Flags: NoScript, Run: clientList},
	{Name: "client|info", Arity: 2, Flags: NoScript, Run: func(c *Call) resp.Value { return document(c.Session.describe()) }},
	{Name: "publish", Arity: 3, Flags: MayReplicate, Run: publish},
	{Name: "spublish", Arity: 3, Flags: MayReplicate, First: 1, Last: 1, Step: 1, Run: publish},
}

func ping(c *Call) resp.Value {
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
func parseDB(text string) (n int, problem resp.Value) {
	i, valid := parseInt(text)
	switch {
	case !valid:
		return 0, errNotInt
	case i < 0 || i >= Databases:
		return 0, errDBIndex
	}
	return int(i), okay
}

func selectDB(c *Call) resp.Value {
	n, problem := parseDB(c.Args[1])
	if problem.Kind == resp.Error {
		return problem
	}
	c.Session.DB = n
	return okay
}

func auth(c *Call) resp.Value {
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

func hello(c *Call) resp.Value {
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
	return dictionary(
		bulk("server"), bulk("redis"), bulk("version"), bulk(Version), bulk("proto"), number(protocol), bulk("id"), integer(c.Session.ID),
		bulk("mode"), bulk("standalone"), bulk("role"), bulk("master"), bulk("modules"), none,
	)
}

func quit(c *Call) resp.Value {
	c.Session.Closing = true
	return okay
}

func reset(c *Call) resp.Value {
	c.Session.discard(c.State)
	c.Session.DB, c.Session.Name, c.Session.Protocol = 0, "", 2
	return status("RESET")
}

func plainName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' })
}

var errClientName = failure("ERR Client names cannot contain spaces, newlines or special characters.")

func clientSetName(c *Call) resp.Value {
	if !plainName(c.Args[2]) {
		return errClientName
	}
	c.Session.Name = c.Args[2]
	return okay
}

func clientGetName(c *Call) resp.Value {
	if c.Session.Name == "" {
		return null
	}
	return bulk(c.Session.Name)
}

func clientSetInfo(c *Call) resp.Value {
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

func clientList(c *Call) resp.Value {
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

// describe is the connection's line of CLIENT LIST: those fields of Redis 8 that have a meaning here, in its order.
func (session *Session) describe() string {
	flags, queued := "N", -1
	if session.multi {
		flags, queued = "x", len(session.queue)
	}
	return fmt.Sprintf("id=%d addr=%s name=%s flags=%s db=%d multi=%d watch=%d user=default resp=%d lib-name=%s lib-ver=%s\n",
		session.ID, session.Addr, session.Name, flags, session.DB, queued, len(session.watched), session.Protocol, session.Library, session.Version)
}

// publish answers how many clients got the message. None can: there is no SUBSCRIBE here. The channel of SPUBLISH counts as a key: in a
// cluster it has a slot, and a function has to be called on the node of that slot.
func publish(*Call) resp.Value { return zero }

// A Session is what the server knows of one connection.
type Session struct {
	ID      int64
	Name    string
	Library string
	Version string
	Addr    string
	DB      int
	Closing bool // QUIT was given

	Protocol int // 2 or 3

	multi   bool
	aborted bool // a command could not be queued
	queue   []pending
	queued  int64 // bytes that the queue takes, about
	watch   *store.Watch
	watched []watchedKey
}

type pending struct {
	cmd  *Command
	args []string
}

type watchedKey struct {
	db  int
	key string
}

// Connect begins a session.
func (s *State) Connect(addr string) *Session {
	s.nextID++
	session := &Session{ID: s.nextID, Addr: addr, Protocol: 2}
	s.sessions[session.ID] = session
	return session
}

// Disconnect ends it.
func (s *State) Disconnect(session *Session) {
	session.discard(s)
	delete(s.sessions, session.ID)
}

// Queues reports whether commands are queued for EXEC.
func (session *Session) Queues() bool { return session.multi }

func (session *Session) enqueue(cmd *Command, args []string) resp.Value {
	session.queue = append(session.queue, pending{cmd, slices.Clone(args)})
	session.queued += pendingOverhead
	for _, arg := range args {
		session.queued += argumentOverhead + int64(len(arg))
	}
	return queued
}

// Costs of a queued command and an argument on the heap beside the argument's bytes.
const (
	pendingOverhead  = 48
	argumentOverhead = 32
)

// Queued returns about how many bytes the commands take that are queued for EXEC.
func (session *Session) Queued() int64 { return session.queued }

func (session *Session) abort() {
	if session.multi {
		session.aborted = true
	}
}

// writes reports whether one of the queued commands may need memory.
func (session *Session) writes() bool {
	return slices.ContainsFunc(session.queue, func(p pending) bool { return p.cmd.Flags&DenyOOM != 0 })
}

// discard leaves MULTI and forgets the watched keys.
func (session *Session) discard(s *State) {
	session.multi, session.aborted, session.queue, session.queued = false, false, nil, 0
	session.unwatch(s)
}

func (session *Session) unwatch(s *State) {
	for _, w := range session.watched {
		s.DBs[w.db].Unwatch(w.key, session.watch)
	}
	session.watch, session.watched = nil, nil
}

var transactionCommands = []Command{
	{Name: "multi", Arity: 1, Flags: AllowBusy | NoScript | AtOnce | Stateful, Run: multi},
	{Name: "exec", Arity: 1, Flags: NoScript | AtOnce | Stateful, Run: exec},
	{Name: "discard", Arity: 1, Flags: AllowBusy | NoScript | AtOnce | Stateful, Run: discard},
	{Name: "watch", Arity: -2, Flags: AllowBusy | NoScript | AtOnce | Stateful, First: 1, Last: -1, Step: 1, Run: watch},
	{Name: "unwatch", Arity: 1, Flags: AllowBusy | NoScript | Stateful, Run: unwatch},
}

func multi(c *Call) resp.Value {
	if c.Session.multi {
		return failure("ERR MULTI calls can not be nested")
	}
	c.Session.multi = true
	return okay
}

func discard(c *Call) resp.Value {
	if !c.Session.multi {
		return failure("ERR DISCARD without MULTI")
	}
	c.Session.discard(c.State)
	return okay
}

func watch(c *Call) resp.Value {
	session := c.Session
	if session.multi {
		return failure("ERR WATCH inside MULTI is not allowed")
	}
	if session.watch == nil {
		session.watch = &store.Watch{}
	}
	for _, key := range c.Args[1:] {
		c.DB.Get(key, c.Now) // a key that has expired already does not count as changed when it is removed
		if c.DB.Watch(key, session.watch) {
			session.watched = append(session.watched, watchedKey{session.DB, key})
		}
	}
	return okay
}

func unwatch(c *Call) resp.Value {
	c.Session.unwatch(c.State)
	return okay
}

// exec runs the queue; nothing comes between, and the clock stands still.
func exec(c *Call) resp.Value {
	state, session, micros := c.State, c.Session, c.Micros
	if !session.multi {
		return failure("ERR EXEC without MULTI")
	}
	for _, w := range session.watched {
		state.DBs[w.db].Get(w.key, c.Now) // an expiry since WATCH is a change
	}
	queue, aborted := session.queue, session.aborted
	changed := session.watch != nil && session.watch.Touched
	session.discard(state)
	switch {
	case aborted:
		return failure("EXECABORT Transaction discarded because of previous errors.")
	case changed:
		return nilArray
	}
	values := make([]resp.Value, len(queue))
	for i, p := range queue {
		values[i] = state.run(session, p.cmd, p.args, micros)
	}
	return array(values)
}
