package vet

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// A command holds the properties of a Redis command that the rules need.
type command struct {
	name  string
	write bool
	// family is the Redis type that its keys must have: one of the header's words, or "" for any type.
	family string
	// keys: positions of keys among the arguments after the name, 1 is the first; last counts from the end if negative.
	first, last, step int
	countAt           int  // position of the number of keys that follow it
	streams           bool // the first half of what follows STREAMS
	reply             replyKind
}

type replyKind byte

const (
	repliesInt     replyKind = 'i'
	repliesString  replyKind = 's'
	repliesMaybe   replyKind = 'm' // a string, or false
	repliesStatus  replyKind = 'o'
	repliesArray   replyKind = 'a'
	repliesGaps    replyKind = 'g' // an array of strings and false
	repliesTime    replyKind = 't'
	repliesNumber  replyKind = 'f' // a number as text
	repliesUnknown replyKind = '?'
)

// commandTable has a row for each command: name, r(ead) or w(rite), family, keys, reply.
// Keys: 1 | 1* all from the first | 1%2 every second | 1-2 | @1 as many as argument 1 says | S half of what follows STREAMS | - none.
//
//go:embed commands.txt
var commandTable string

// replicated are the commands that write no key of the call and may still be replicated, PFCOUNT for its cached count. Redis refuses them
// wherever it refuses writes.
var replicated = set("PFCOUNT PUBLISH SPUBLISH")

// refusedCommands maps commands that a function must not run to the reason.
var refusedCommands = func() map[string]string {
	out := map[string]string{
		"KEYS":      "it visits every key of the server, and returns keys that the call has not declared",
		"SCAN":      "it visits every key of the server, and returns keys that the call has not declared",
		"RANDOMKEY": "it returns a key that the call has not declared",
		"DBSIZE":    "a function works on its own keys",
		"FLUSHALL":  "it deletes every key of the server",
		"FLUSHDB":   "it deletes every key of the database",
		"SWAPDB":    "a function works on its own keys",
		"SELECT":    "a cluster has one database, and generated clients choose it",
		"MOVE":      "a cluster has one database",
		"SORT":      "BY and GET reach keys that the call has not declared, and it sorts the whole content",
		"SORT_RO":   "BY and GET reach keys that the call has not declared, and it sorts the whole content",
		"EVAL":      "a function calls Lua, not another script", "EVALSHA": "a function calls Lua, not another script",
		"EVAL_RO": "a function calls Lua, not another script", "EVALSHA_RO": "a function calls Lua, not another script",
		"FCALL": "a function calls Lua functions of lib/, not another Redis function", "FCALL_RO": "a function calls Lua functions of lib/, not another Redis function",
		"GEORADIUS": "it is deprecated: use GEOSEARCH", "GEORADIUSBYMEMBER": "it is deprecated: use GEOSEARCH",
		"ZUNIONSTORE": "it works on the whole content of its keys", "ZINTERSTORE": "it works on the whole content of its keys", "ZDIFFSTORE": "it works on the whole content of its keys",
	}
	for _, name := range strings.Fields("BLPOP BRPOP BLMOVE BRPOPLPUSH BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF") {
		out[name] = "it blocks or waits, and a function holds the whole server"
	}
	for _, name := range strings.Fields("ACL AUTH ASKING BGREWRITEAOF BGSAVE CLIENT CLUSTER COMMAND CONFIG DEBUG DISCARD EXEC FAILOVER FUNCTION HELLO INFO LASTSAVE LATENCY MEMORY MIGRATE MODULE MONITOR MULTI PFDEBUG PFSELFTEST PSUBSCRIBE PSYNC PUBSUB PUNSUBSCRIBE QUIT READONLY READWRITE REPLCONF REPLICAOF RESET RESTORE-ASKING ROLE SAVE SCRIPT SHUTDOWN SLAVEOF SLOWLOG SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE SYNC UNSUBSCRIBE UNWATCH WATCH") {
		out[name] = "it acts on the server or the connection, not on the subject's keys"
	}
	return out
}()

// newerTable holds the commands that servers newer than Redis 7.0 have, with the first versions that have them, as COMMAND DOCS of these
// servers gives them. A test compares it with the servers, and rewrites it with -update.
//
//go:embed newer_commands.txt
var newerTable string

// newerCommands maps commands that Redis 7.0, the oldest supported server, lacks to the first versions that have them.
var newerCommands = func() map[string]string {
	out := map[string]string{ // of servers that the test does not run on
		"INCREX": "Redis 8.8 and Valkey 9.2", "GCRA": "no release of Redis",
		"DELEX": "Redis 8.4", "DIGEST": "Redis 8.4", "MSETEX": "Redis 8.4", "XDELEX": "Redis 8.2", "XACKDEL": "Redis 8.2",
	}
	for _, name := range strings.Fields("VADD VSIM VREM VCARD VDIM VEMB VGETATTR VSETATTR VINFO VLINKS VRANDMEMBER VISMEMBER") {
		out[name] = "the vector sets of Redis 8.0"
	}
	for line := range strings.Lines(newerTable) {
		name, since, _ := strings.Cut(strings.TrimSpace(line), " ")
		if earlier, ok := out[name]; ok {
			since = earlier + " and " + since
		}
		out[name] = since
	}
	return out
}()

var commands, commandNames = func() (map[string]*command, []string) {
	out := map[string]*command{}
	var names []string
	for _, row := range strings.Split(strings.TrimSpace(commandTable), "\n") {
		f := strings.Fields(row)
		c := &command{name: f[0], write: f[1] == "w", reply: replyKind(f[4][0])}
		if f[2] != "-" {
			c.family = f[2]
		}
		switch keys := f[3]; {
		case keys == "-":
		case keys == "S":
			c.streams = true
		case keys[0] == '@':
			_, _ = fmt.Sscanf(keys, "@%d", &c.countAt)
		case strings.HasSuffix(keys, "*"):
			c.first, c.last, c.step = int(keys[0]-'0'), -1, 1
		case strings.Contains(keys, "%"):
			c.first, c.last, c.step = 1, -1, 2
		case strings.Contains(keys, "-"):
			c.first, c.last, c.step = 1, 2, 1
		default:
			c.first, c.last, c.step = int(keys[0]-'0'), int(keys[0]-'0'), 1
		}
		out[c.name] = c
		names = append(names, c.name)
	}
	slices.Sort(names)
	return out, names
}()

// keyPlaces returns the indexes of keys among the n arguments after the command's name.
func (c *command) keyPlaces(args []value) []int {
	var out []int
	if c.countAt > 0 {
		if c.countAt > len(args) {
			return nil
		}
		text, fixed := args[c.countAt-1].literal()
		n, ok := number(text)
		if !fixed || !ok || n < 0 || n > float64(len(args)) {
			return nil
		}
		for i := range int(n) {
			if at := c.countAt + i; at < len(args) {
				out = append(out, at)
			}
		}
		return out
	}
	if at := indexOfWord(args, 0, "STREAMS"); c.streams && at >= 0 {
		for i := range (len(args) - at - 1) / 2 {
			out = append(out, at+1+i)
		}
	}
	if c.first == 0 {
		return out
	}
	last := c.last
	if last < 0 {
		last = len(args)
	}
	for i := c.first; i <= last && i <= len(args); i += c.step {
		out = append(out, i-1)
	}
	return out
}

// CommandNames returns the commands that vet knows, sorted.
func CommandNames() []string { return slices.Clone(commandNames) }
