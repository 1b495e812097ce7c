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
	{"eval", "", `eval "return redis.pcall('dump', KEYS[1])" 1 k`, `(nil)`, `-ERR Unknown Redis command called from script (the embedded engine has no 'dump', see docs/embedded.md)`, "a command that is not here is named, also one that Redis does not have"},
	{"pfadd", "pfadd k a", "strlen k", `21`, `12304`, "always in the dense form, which Redis reads too; it keeps a small HyperLogLog in a sparse one"},
	{"client setinfo", "", "client setinfo lib-name x", `-ERR unknown subcommand 'setinfo'. Try CLIENT HELP.`, `+OK`, "as since 7.2"},
	{"zrank", "zadd z 5 m", "zrank z m withscore", `-ERR wrong number of arguments for 'zrank' command`, `[0 "5"]`, "as since 7.2"},
	{"zscore", "zadd z 0.1 m", "zscore z m", `"0.10000000000000001"`, `"0.1"`, "scores have the fewest digits, as since 7.2"},
	{"lpos", "rpush l a", "lpos l a rank -9223372036854775808", `0`, `-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807`, "as since 7.2"},
	{"command info", "", "command info get", `[["get" 2 [+readonly +fast] 1 1 1 [+@read +@string +@fast] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" 1]] "find_keys" ["type" "range" "spec" ["lastkey" 0 "keystep" 1 "limit" 0]]]] []]]`, `[["get" 2 [+readonly +fast] 1 1 1 [] [] [] []]]`, "no categories, tips, key specifications or subcommands"},
	{"debug", "", "debug set-active-expire 1", `-ERR DEBUG command not allowed. If the enable-debug-command option is set to "local", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.`, `+OK`, "only RELOAD without options, SET-ACTIVE-EXPIRE and QUICKLIST-PACKED-THRESHOLD, always"},
	{"config set", "", "config set maxmemory-clients 1gb", `+OK`, `-ERR Unknown option or number of arguments for CONFIG SET - 'maxmemory-clients'`, "the buffers of each client have a bound, and the number of clients"},
	{"config get", "", "config get hz", `["hz" "10"]`, `[]`, "only settings that have a meaning here"},
}
