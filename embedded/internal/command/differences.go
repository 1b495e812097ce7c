package command

// A Difference is one reply that is not Redis's.
type Difference struct {
	Command string
	Setup   string // commands before, separated by semicolons
	Ask     string
	Redis   string // the reply of Redis 7.0.15, in the form of the tables in testdata
	Here    string
	Reason  string
}

// Differences are those that are known. Replies in random order, sizes and times are not among them.
var Differences = []Difference{
	{"object encoding", "append k 1; append k 2", "object encoding k", `"raw"`, `"int"`, "the encoding follows from the value, not from its history"},
	{"object encoding", "sadd s a", "object encoding s", `"hashtable"`, `"listpack"`, "as since 7.2"},
	{"object encoding", "rpush l a", "object encoding l", `"quicklist"`, `"listpack"`, "as since 7.2"},
	{"client setinfo", "", "client setinfo lib-name x", `-ERR unknown subcommand 'setinfo'. Try CLIENT HELP.`, `+OK`, "as since 7.2"},
	{"zrank", "zadd z 5 m", "zrank z m withscore", `-ERR wrong number of arguments for 'zrank' command`, `[0 "5"]`, "as since 7.2"},
	{"config get", "", "config get hz", `["hz" "10"]`, `[]`, "only settings that have a meaning here"},
}
