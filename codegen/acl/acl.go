// Package acl generates ACL rules for Redis users that may do exactly one job.
//
// A rule names commands and keys one by one; it uses no category like @read, because the members of a category differ by
// server and version.
package acl

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// A Rule is what one user may do.
type Rule struct {
	Keys     []string // as ACL SETUSER names them: "~rl:*", "%R~rl:*" to read only
	Channels []string // as ACL SETUSER names them: "&rl:*"
	Commands []string // as ACL SETUSER names them: "get", "fcall|ratelimit_v1_gcra", "function|list"
}

// String returns what the rule adds to a user: `~rl:* +fcall|ratelimit_v1_gcra +get`.
func (r Rule) String() string {
	words := slices.Concat(r.Keys, r.Channels)
	for _, c := range r.Commands {
		words = append(words, "+"+c)
	}
	return strings.Join(words, " ")
}

// SetUser returns the command that creates the user: enabled, with this rule only, and without a password, so it is unusable
// until it has one.
func (r Rule) SetUser(name string) string {
	return "ACL SETUSER " + name + " reset on " + r.String()
}

// And returns what the two rules allow together, sorted and without repeats.
func (r Rule) And(other Rule) Rule {
	var keys []string
	all := union(r.Keys, other.Keys)
	for _, k := range all {
		if whole, readOnly := strings.CutPrefix(k, "%R"); !readOnly || !slices.Contains(all, whole) {
			keys = append(keys, k)
		}
	}
	return Rule{Keys: keys, Channels: union(r.Channels, other.Channels), Commands: union(r.Commands, other.Commands)}
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Function returns the rule of a user that may call one function. An empty namespace is the default one.
func Function(lib *spec.Library, fn *spec.Function, namespace string) Rule {
	if namespace == "" {
		namespace = agreed.Namespace
	}
	keys, verb := "~", "fcall|"
	if fn.Has("no-writes") {
		keys, verb = "%R~", "fcall_ro|"
	}
	r := Rule{Keys: []string{keys + namespace + ":*"}, Commands: []string{verb + fn.Server}}
	for _, c := range fn.Command {
		name, channel, _ := strings.Cut(c, "|")
		if name == "SPUBLISH" || name == "PUBLISH" {
			switch c = name; {
			case name == "SPUBLISH": // whose channel is one of the call's keys
				channel = namespace + ":*"
			case !plainChannel.MatchString(channel):
				channel = "*"
			}
			r.Channels = append(r.Channels, "&"+channel)
		}
		r.Commands = append(r.Commands, strings.ToLower(c))
	}
	return r
}

// plainChannel matches a channel that ACL SETUSER takes as it is.
var plainChannel = regexp.MustCompile(`^[A-Za-z0-9_.:{}/-]+$`)

// Library returns the rule of a service that calls any function of a library.
func Library(lib *spec.Library, namespace string) Rule {
	var r Rule
	for i := range lib.Functions {
		r = r.And(Function(lib, &lib.Functions[i], namespace))
	}
	return r
}

// AutoLoading lets a client load its own library where a node has lost it. It grants more than it seems: a user that may load functions may run
// any Lua with its other permissions.
var AutoLoading = Rule{Commands: []string{"function|load"}}

// AutoLoadingByKey is what auto-load also needs on a cluster, where the load must find the node of a key: a transaction that reads the
// key.
var AutoLoadingByKey = Rule{Commands: []string{"exec", "multi", "type"}}

// Cluster lets a client find the nodes of a cluster and follow slots that move.
var Cluster = Rule{Commands: []string{"asking", "cluster|nodes", "cluster|shards", "cluster|slots", "command", "readonly"}}

// Reporting lets a guarded service write the reports that `rlfunc top` reads, whose keys have the namespace of its libraries.
var Reporting = Rule{Commands: []string{"pexpire", "set", "zadd", "zcount", "zremrangebyscore"}}

// Identifying lets a service say in CLIENT LIST which libraries it uses. Servers before Redis 7.2 do not know the command, and refuse
// the rule.
var Identifying = Rule{Commands: []string{"client|setinfo"}}

// state are the keys of the deploys: the last operation on each library, the history, the releases and the revision of each primary.
const state = "rlfunc:{deploy*"

// look is what is needed to find the nodes of any target and to read their libraries.
var look = Rule{Commands: []string{
	"client|info", "client|list", "cluster|info", "config|get", "function|list", "function|stats", "hget", "hgetall", "info", "lrange", "ping", "select", "time",
}}.And(Cluster)

// Deployer is the rule of a pipeline: plan, deploy, status, rollback and retire. It neither reads nor writes limits.
var Deployer = Rule{
	Keys: []string{"~" + state},
	Commands: []string{
		"discard", "exec", "function|delete", "function|load", "hdel", "hset", "incr", "ltrim", "multi", "rpush", "unwatch", "wait", "watch",
	},
}.And(look)

// Watching is what an operator needs besides the libraries' own functions: to inspect the server, find slow calls, and kill a function
// that blocks it. It loads nothing and writes nothing.
var Watching = Rule{
	Keys:     []string{"%R~" + state},
	Commands: []string{"function|kill", "latency|latest", "slowlog|get"},
}.And(look)

// Operating is what an operator of guarded services needs besides the libraries' functions, whose keys have the same namespace: the log
// of manual operations, and the reports of the processes.
var Operating = Rule{Commands: []string{"mget", "xadd", "xrevrange", "zrange"}}
