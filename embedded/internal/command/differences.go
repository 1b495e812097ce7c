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
	{"object encoding", "incrbyfloat k 1", "object encoding k", `"embstr"`, `"int"`, "the sum is stored as SET stores it"},
	{"client setinfo", "", "client setinfo lib-name x", `-ERR unknown subcommand 'setinfo'. Try CLIENT HELP.`, `+OK`, "as since 7.2"},
	{"zrank", "zadd z 5 m", "zrank z m withscore", `-ERR wrong number of arguments for 'zrank' command`, `[0 "5"]`, "as since 7.2"},
	{"debug", "", "debug set-active-expire 1", `-ERR DEBUG command not allowed. If the enable-debug-command option is set to "local", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.`, `+OK`, "only RELOAD without options, SET-ACTIVE-EXPIRE and QUICKLIST-PACKED-THRESHOLD, always"},
	{"config set", "", "config set maxmemory-clients 1gb", `+OK`, `-ERR Unknown option or number of arguments for CONFIG SET - 'maxmemory-clients'`, "the buffers of each client have a bound, and the number of clients"},
	{"config get", "", "config get hz", `["hz" "10"]`, `[]`, "only settings that have a meaning here"},
}
