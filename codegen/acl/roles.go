package acl

// state are the keys in which a target keeps its lock, its releases and the clients that were seen.
const state = "rlfunc:{deploy*"

// look is what is needed to find the nodes of any target and to read their libraries.
var look = Rule{Commands: []string{
	"client|info", "cluster|info", "config|get", "function|list", "function|stats", "hget", "hgetall", "info", "lrange", "ping", "select", "time", "zrangebyscore",
}}.And(Cluster)

// Deployer is the rule of a pipeline: plan, deploy, verify, status, doctor, rollback and retire. It neither reads nor writes limits.
var Deployer = Rule{
	Keys: []string{"~" + state},
	Commands: []string{
		"del", "discard", "exec", "function|load", "get", "getex", "hdel", "hset", "ltrim", "multi", "pttl", "rpush", "set", "unwatch", "wait", "watch",
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
