package vet

import (
	_ "embed"
	"strings"
)

// A redisCommand holds the properties of a Redis command that the rules need.
type redisCommand struct {
	write bool   // or is replicated: Redis refuses it wherever it refuses writes
	reply byte   // i(nteger), s: text, f: a number as text, m: that or false, o: a table {ok = ...}, a(rray), g: with false in it, t: TIME's, or ?
	whole string // *: it reads all that its key holds; a word: it does without that word; 0:-1: it does with this range
}

var (
	// A row for each command that functions may run: name, r(ead) or w(rite), reply, and of some when they read all that a key holds.
	//
	//go:embed commands.txt
	commandTable string

	// A row for each command that they must not run: name and reason.
	//
	//go:embed refused_commands.txt
	refusedTable string

	// A row for each command that Redis 7.0 lacks, the oldest server: name and the first versions that have it. A test compares it with
	// servers' COMMAND DOCS.
	//
	//go:embed newer_commands.txt
	newerTable string
)

var (
	refusedCommands = rows(refusedTable)
	newerCommands   = rows(newerTable)
	commands        = func() map[string]*redisCommand {
		out := map[string]*redisCommand{}
		for name, row := range rows(commandTable) {
			f := append(strings.Fields(row), "")
			out[name] = &redisCommand{write: f[0] == "w", reply: f[1][0], whole: f[2]}
		}
		return out
	}()
)

func rows(table string) map[string]string {
	out := map[string]string{}
	for row := range strings.Lines(table) {
		name, rest, _ := strings.Cut(strings.TrimSpace(row), " ")
		out[name] = rest
	}
	return out
}
