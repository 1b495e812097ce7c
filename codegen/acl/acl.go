// Package acl writes the rules of Redis users that may do one job and nothing else.
//
// A rule names commands and keys one by one; no category like @read stands in it, because what a category holds differs by
// server and version.
package acl

import (
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// A Rule is what one user may do.
type Rule struct {
	Keys     []string // as ACL SETUSER names them: "~ratelimit:*"
	Commands []string // as ACL SETUSER names them: "fcall", "function|list"
}

// String is what the rule adds to a user: `~ratelimit:* +fcall +get`.
func (r Rule) String() string {
	words := slices.Clone(r.Keys)
	for _, c := range r.Commands {
		words = append(words, "+"+c)
	}
	return strings.Join(words, " ")
}

// SetUser is the command that makes the user: enabled, with this rule only, and without a password, so that nobody can use it
// until it is given one.
func (r Rule) SetUser(name string) string {
	return "ACL SETUSER " + name + " reset on " + r.String()
}

// And is what both rules allow together, each thing once and sorted.
func (r Rule) And(other Rule) Rule {
	return Rule{Keys: union(r.Keys, other.Keys), Commands: union(r.Commands, other.Commands)}
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Function is the rule of a user that may call one function. An empty namespace is the library's own.
func Function(lib *spec.Library, fn *spec.Function, namespace string) Rule {
	if namespace == "" {
		namespace = lib.Name
	}
	r := Rule{Keys: []string{"~" + namespace + ":*"}, Commands: []string{"fcall"}}
	if fn.Has("no-writes") {
		r.Commands[0] = "fcall_ro"
	}
	for _, c := range fn.Command {
		r.Commands = append(r.Commands, strings.ToLower(c))
	}
	return r
}

// Library is the rule of a service that calls any function of a library.
func Library(lib *spec.Library, namespace string) Rule {
	var r Rule
	for i := range lib.Functions {
		r = r.And(Function(lib, &lib.Functions[i], namespace))
	}
	return r
}

// Healing lets a client load its own library where a node has lost it. It is more than it looks: who may load a function may run
// any Lua with this user's other permissions.
var Healing = Rule{Commands: []string{"function|load"}}

// HealingByKey is what that takes besides on a cluster, where the load has to find the node of a key: a transaction with a look at the
// key, and of an auto-pipeliner a WATCH.
var HealingByKey = Rule{Commands: []string{"exec", "multi", "type", "unwatch", "watch"}}

// Cluster lets a client find the nodes of a cluster and follow slots that move.
var Cluster = Rule{Commands: []string{"asking", "cluster|nodes", "cluster|shards", "cluster|slots", "command", "readonly"}}

// Announcing lets a service tell the server that it uses a library (loader.Announce), so that a retire waits for it.
var Announcing = Rule{
	Keys:     []string{"~rlfunc:{deploy}:clients"},
	Commands: []string{"expire", "time", "zadd", "zrem", "zremrangebyscore"},
}
