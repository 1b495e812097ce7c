package vet

var keyRules = []Rule{
	{
		ID:     RuleUndeclaredKey,
		Checks: "Checks that every key of a redis.call is a @key parameter, unchanged, or a key field of a group's row.",
		Why:    "A key that the call does not declare works on one server and in a cluster until the slots move; then the function fails on live traffic. ACL rules and generated key builders know declared keys only.",
		Bad:    look("return tonumber(redis.call('GET', counter .. ':total') or 0) or 0"),
		Good: example([]string{
			"--- Returns the total.",
			"--- @flags  no-writes",
			"--- @key    total string[total] the subject's total",
			"--- @result count count         calls so far",
			"local function look(total)",
		}, []string{"return tonumber(redis.call('GET', total) or 0) or 0"}),
	},
	{
		ID:     RuleKeyType,
		Checks: "Checks that a command fits the Redis type that the header gives its key.",
		Why:    "Every server answers WRONGTYPE at the first call that finds the key.",
		Bad:    look("return redis.call('LLEN', counter)"),
		Good:   look("return redis.call('STRLEN', counter)"),
	},
	{
		ID:     RuleUnknownCommand,
		Checks: "Checks that every command exists in Redis 7.0, the oldest server that a library runs on, or in those of its @requires.",
		Why:    "An unknown command is an error at run time, perhaps after a write; HEXPIRE came with Redis 7.4, HGETEX with 8.0, INCREX with 8.8.",
		Bad:    look("return tonumber(redis.call('GETT', counter) or 0) or 0"),
		Good:   look("return tonumber(redis.call('GET', counter) or 0) or 0"),
	},
	{
		ID:     RuleRefusedCommand,
		Checks: "Checks that no command blocks, acts on the server or the connection, or reaches keys that the call has not declared.",
		Why:    "Servers refuse most of these inside a function, and KEYS or SCAN visit every key of the node while all other clients wait.",
		Bad:    look("return #redis.call('KEYS', counter)"),
		Good:   look("return redis.call('EXISTS', counter)"),
	},
	{
		ID:     RuleCommandForm,
		Checks: "Checks that a command's arguments have a form that Redis 7.0 takes: their number, options, whole numbers, bits and types of BITFIELD.",
		Why:    "A wrong form is an error at run time, perhaps after a write. An option of a newer server, such as SET IFEQ, is one on Redis 7.0.",
		Bad:    look("return redis.call('STRLEN', counter, 0)"),
		Good:   look("return redis.call('STRLEN', counter)"),
	},
	{
		ID:     RuleDynamicCommand,
		Checks: "Checks that the name of every command is a literal, which may begin a table that ends in appended elements and is unpacked.",
		Why:    "The keys of a computed command, its ACL rule and whether it writes are unknown before it runs.",
		Bad: look(
			"local command = string.upper('strlen')",
			"return tonumber(redis.call(command, counter)) or 0",
		),
		Good: look("return redis.call('STRLEN', counter)"),
	},
	{
		ID:     RuleCallArgument,
		Checks: "Checks that every argument of redis.call is a string or a number on every path.",
		Why:    "nil, a bool or a table there, and later FUNCTION FLUSH, DEBUG RELOAD or a full resync as a replica, crashes Redis 7.4.1, 8.0.2 and 8.0.6: a demoted primary that rejoins dies.",
		Bad: hit(
			"local old = redis.call('GET', counter)",
			"redis.call('SET', counter, old, 'PX', math.ceil(window_us / 1000))",
			"return 1",
		),
		Good: hit(
			"local old = redis.call('GET', counter)",
			"redis.call('SET', counter, old or '0', 'PX', math.ceil(window_us / 1000))",
			"return 1",
		),
	},
	{
		ID:     RuleCallFraction,
		Checks: "Checks that numbers passed to redis.call are whole.",
		Why:    "Redis 7.0 writes a fraction with 17 digits and servers from 7.2 with as few as needed, so the same call stores different bytes.",
		Bad: hit(
			"redis.call('SET', counter, window_us / 3, 'PX', math.ceil(window_us / 1000))",
			"return 1",
		),
		Good: hit(
			"redis.call('SET', counter, math.floor(window_us / 3), 'PX', math.ceil(window_us / 1000))",
			"return 1",
		),
	},
	{
		ID:     RuleNoWrites,
		Checks: "Checks that a function with the flag no-writes runs no command that writes, nor PFCOUNT or PUBLISH, including in lib files.",
		Why:    "Redis runs such a function on replicas and over maxmemory, and refuses the write at run time, on live traffic.",
		Bad:    look("return redis.call('DEL', counter)"),
		Good:   look("return redis.call('EXISTS', counter)"),
	},
	{
		ID:     RuleMissingTTL,
		Checks: "Checks that a call sets an expiry for each key that it writes, with the write or after it, on every path, and none for a key that it writes and that the header declares forever.",
		Why:    "A key without an expiry stays forever: one per subject that ever called, until the server is full. SET drops the expiry that a key had, and an expiry set before the first write falls on a key that is not there. A test that excludes a missing key counts: behind `if redis.call('INCR', key) == 1 then` the key is new on one branch and has an expiry on the other, and a test for 2 proves nothing. A command that may remove the last element also removes the expiry. State that must last is declared so: `@key stock string[stock] forever ...`. A call that writes such a key and lets it expire deletes what the header promises to keep; one that only sets its expiry ends it on purpose.",
		Bad:    hit("return redis.call('INCR', counter) * (window_us - window_us + 1)"),
		Good: hit(
			"local count = redis.call('INCR', counter)",
			"if count == 1 then",
			"  redis.call('PEXPIRE', counter, math.ceil(window_us / 1000))",
			"end",
			"return count",
		),
	},
	{
		ID:     RuleBadTTL,
		Checks: "Checks that a time to live is a whole number in the command's unit that cannot be 0, and that a time at which SET lets its key expire is not the caller's own without a comparison.",
		Why:    "EXPIRE 0 deletes the key, so a window below a millisecond counts nothing; SET with PX 0 or PX 1.5 is an error.",
		Bad: hit(
			"redis.call('SET', counter, 1, 'PX', math.floor(window_us / 1000))",
			"return 1",
		),
		Good: hit(
			"redis.call('SET', counter, 1, 'PX', math.ceil(window_us / 1000))",
			"return 1",
		),
	},
	{
		ID:     RuleSharedTTL,
		Checks: "Checks that a call does not give a list, set, zset, hash or stream, nor a string that it packs or joins again or to which it appends, the expiry that its own duration argument says, unless a comparison has found that the key expires earlier, or it says NX or GT.",
		Why:    "Such a key holds entries of several calls. One call with a shorter duration lets the entries of all others expire: of two seats, one held for an hour and one for a second, both are free after a second, and two more holders are let in.",
		Bad: seat(
			"redis.call('ZADD', seats, 1, holder)",
			"redis.call('PEXPIRE', seats, math.ceil(hold_us / 1000))",
			"return redis.call('ZCARD', seats)",
		),
		Good: seat(
			"redis.call('ZADD', seats, 1, holder)",
			"if redis.call('PEXPIRE', seats, math.ceil(hold_us / 1000), 'NX') == 0 then",
			"  redis.call('PEXPIRE', seats, math.ceil(hold_us / 1000), 'GT')",
			"end",
			"return redis.call('ZCARD', seats)",
		),
	},
	{
		ID:     RuleKeyLoop,
		Checks: "Checks that work does not grow with a key's content: no command that reads all of it, unless a comparison of HLEN, LLEN, SCARD, ZCARD or XLEN, or LTRIM, has bounded it to 10,000 elements, no redis.call in a while or repeat, no for up to a key's length.",
		Why:    "All clients wait while a function runs. After 5 seconds every other client gets BUSY, and if the function has written, only a shutdown ends it.",
		Bad: example([]string{
			"--- Counts names.",
			"--- @key    names set[names] the subject's names",
			"--- @result count count      how many",
			"local function names_left(names)",
		}, []string{"return #redis.call('SMEMBERS', names)"}),
		Good: example([]string{
			"--- Counts names.",
			"--- @key    names set[names] the subject's names",
			"--- @result count count      how many",
			"local function names_left(names)",
		}, []string{"return redis.call('SCARD', names)"}),
	},
	{
		ID:     RuleClock,
		Checks: "Checks that only lib/clock.lua reads TIME.",
		Why:    "Tests replace that file with a clock that they control; a second reader of time would use another clock.",
		Bad: hit(
			"local now = redis.call('TIME')",
			"redis.call('SET', counter, now[1], 'PX', math.ceil(window_us / 1000))",
			"return 1",
		),
		Good: withUse("clock", hit(
			"redis.call('SET', counter, clock.now_us(), 'PX', math.ceil(window_us / 1000))",
			"return 1",
		)),
	},
	{
		ID:     RuleClockTwice,
		Checks: "Checks that a call reads the clock once.",
		Why:    "TIME moves during a function on Redis 7.0 and is frozen from 7.2 on: two reads differ on one server and not on the next.",
		Bad: withUse("clock", hit(
			"local began_us = clock.now_us()",
			"redis.call('SET', counter, began_us, 'PX', math.ceil(window_us / 1000))",
			"return clock.now_us() - began_us",
		)),
		Good: withUse("clock", hit(
			"local now_us = clock.now_us()",
			"redis.call('SET', counter, now_us, 'PX', math.ceil(window_us / 1000))",
			"return 1",
		)),
	},
}

// withUse adds an @use row to an example, after its first line.
func withUse(lib, source string) string {
	for i := range source {
		if source[i] == '\n' {
			return source[:i] + "\n--- @use    " + lib + source[i:]
		}
	}
	return source
}
