package parity_test

import "regexp"

var knownWordings = []wording{
	{
		servers: "*",
		reason:  "The embedded engine names a command that it does not have.",
		ours:    regexp.MustCompile(` \(the embedded engine has no '[^']*', see docs/embedded\.md\)`),
		theirs:  "",
	},
	{
		servers: "Valkey 9.[1-9]*",
		reason:  "Valkey 9.1 leaves the function's name out of an error from inside.",
		ours:    regexp.MustCompile(` script: \w+, on @`),
		theirs:  " script: on @",
	},
	{
		servers: "Valkey 9.[1-9]*",
		reason:  "Valkey 9.1 gives its own name to a command that no function may call.",
		ours:    regexp.MustCompile(`^-ERR This Redis command`),
		theirs:  "-ERR This Valkey command",
	},
}

// knownDifferences are the snippets that the embedded engine answers in its own way, and why that is left so.
var knownDifferences = []difference{
	{
		servers: "*",
		reason:  "gopher-lua does not know the variable's name, nor the type of what is called or has no length. No client sees more than the text.",
		steps: []string{
			`@ redis.register_function('late', function() end)`,
			`! #!lua name=a local t = nil return t.x`,
			`@ return -{}`,
			`@ return struct.pack('I4')`,
			`@ return #5`,
			`@ return #nil`,
			`@ return string.nope('x')`,
			`@ for k in nil do end`,
			`@ local t = {} return t.x.y`,
			`@ local t = nil return t.x`,
			`@ local t = {} t.x.y = 1`,
			`@ local x = 5 return x.y`,
			`@ local x = 5 x.y = 1`,
			`@ local s = 'str' s.y = 1`,
			`@ local f f()`,
			`@ local t = {} t.f()`,
			`@ local t = {} t:f()`,
			`@ local x = 5 x()`,
			`@ ('x')()`,
		},
	},
	{
		servers: "*",
		reason:  "gopher-lua words a syntax error in its own way.",
		steps: []string{
			`@ local x <const> = 5 return x`,
			`@ return 7 // 2`,
			`@ return 5 & 3`,
			`@ return 1 << 2`,
			`@ return ~5`,
			`@ return 5 != 3`,
			`@ return select(2, loadstring('return +'))`,
			`@ return select(2, loadstring('x = = 1', 'chunk'))`,
			`! #!lua name=a local x = = 1`,
			`> FUNCTION LOAD REPLACE "#!lua name=a\nbroken("`,
		},
	},
	{
		servers: "*",
		reason:  "gopher-lua reads a little more than Lua 5.1 (empty statements, escapes above 255, __len of tables, any __tostring, any key to next) and keeps goto as a word.",
		steps: []string{
			`@ local goto = 5 return goto`,
			`@ local a = 1; ; return a`,
			`@ return '\300'`,
			`@ return next({}, 'nope')`,
			`@ local t = setmetatable({}, {__tostring = function() return 5 end}) return tostring(t)`,
			`@ local t = setmetatable({}, {__len = function() return 42 end}) return #t`,
		},
	},
	{
		servers: "*",
		reason:  "Lua 5.1 ends a pattern at a NUL; ours does not. %z means the same on both.",
		steps: []string{
			`@ return {string.gsub('a\0b', '\0', '0')}`,
		},
	},
	{
		servers: "*",
		reason:  "gopher-lua has no room left to find the place of a stack overflow.",
		steps: []string{
			`@ local function f() return 1 + f() end local ok, e = pcall(f) return e`,
		},
	},
	{
		servers: "*",
		reason:  "There is no byte code of gopher-lua to dump.",
		steps: []string{
			`@ return string.dump(function() end) and 'dumped'`,
		},
	},
	{
		servers: "*",
		reason:  "Commands that the embedded engine does not have: it says that they are unknown.",
		steps: []string{
			`> DUMP nope`,
		},
	},
	{
		servers: "Redis 7.0.*",
		reason:  "Redis 7.0 prints doubles with 17 digits; the embedded engine as Redis from 7.2 on.",
		steps: []string{
			`> ZRANGE z 0 -1 WITHSCORES`,
			`@ redis.call('SET', keys[1], 0.1) return redis.call('GET', keys[1])`,
			`@ redis.call('SET', keys[1], 1/3) return redis.call('GET', keys[1])`,
			`@ redis.call('SET', keys[1], -0.0) return redis.call('GET', keys[1])`,
			`@ redis.call('SET', keys[1], 1e17) return redis.call('GET', keys[1])`,
			`@ redis.call('SET', keys[1], 2^63) return redis.call('GET', keys[1])`,
			`@ redis.call('SET', keys[1], -2^63) return redis.call('GET', keys[1])`,
			`@ redis.call('SET', keys[1], 1e300) return redis.call('GET', keys[1])`,
			`@ redis.call('SET', keys[1], 1e-7) return redis.call('GET', keys[1])`,
			`@ redis.call('ZADD', keys[1], '0.1', 'm') return redis.call('ZSCORE', keys[1], 'm')`,
		},
	},
	{
		servers: "Redis 7.0.*",
		reason:  "Redis 7.0 negates the lowest integer, which overflows; later ones refuse it.",
		steps: []string{
			`> LPOS l a RANK -9223372036854775808`,
			`> LREM l -9223372036854775808 a`,
		},
	},
	{
		servers: "Redis 7.0.*",
		reason:  "Redis 7.0 has no os library, and words one message otherwise.",
		steps: []string{
			`@ redis.log(9, 'hello')`,
			`@ return type(os)`,
			`@ return type(os.clock)`,
			`@ return type(os.time)`,
			`@ return type(os.exit)`,
		},
	},
	{
		servers: "Valkey *",
		reason:  "Valkey leaves its former name out of messages, or moved a check.",
		steps: []string{
			`@ local ok, e = pcall(redis.call, 'GET') return e`,
			`@ return redis.call()`,
			`@ return redis.pcall()`,
			`@ return redis.call('NOPE')`,
			`@ return redis.call('nope', 'a')`,
			`@ return redis.call('GET')`,
			`@ return redis.call('GET', keys[1], 'extra')`,
			`@ return redis.pcall('NOPE')`,
			`@ return redis.pcall('GET')`,
			`@ return redis.pcall('GET').err`,
			`@ local e = redis.pcall('GET') return {type(e), tostring(e.err)}`,
			`@ redis.log(redis.LOG_DEBUG)`,
			`@ redis.log()`,
			`@ return redis.setresp()`,
			`@ return redis.acl_check_cmd('NOPE')`,
			`! #!lua name=a redis.register_function('f', 5)`,
			`! #!lua name=a redis.register_function('f')`,
			`! #!lua name=a redis.register_function()`,
			`! #!lua name=a redis.register_function('', function() end)`,
			`! #!lua name=a redis.register_function('a b', function() end)`,
			`! #!lua name=a redis.register_function('a-b', function() end)`,
			`! #!lua name=a redis.register_function('f', function() end, 'more')`,
			`! #!lua name=a redis.register_function{function_name = 'f'}`,
			`! #!lua name=a redis.register_function{callback = function() end}`,
			`! #!lua name=a redis.register_function{function_name = 'f', callback = 5}`,
			`! #!lua name=a redis.register_function{function_name = 'f', callback = function() end, nope = 1}`,
			`! #!lua name=a redis.register_function{function_name = 'f', callback = function() end, flags = 'no-writes'}`,
			`! #!lua name=a redis.register_function{}`,
			`! #!lua name=a redis.register_function('f', function() end) redis.register_function('f', function() end)`,
			`> MULTI`,
			`> WATCH k`,
		},
	},
	{
		servers: "Valkey *",
		reason:  "Valkey ends code at a NUL.",
		steps: []string{
			`> FUNCTION LOAD "#!lua name=nul\nredis.register_function('nulf', function() return 'a\x00b' end)"`,
			`> FCALL nulf 0`,
		},
	},
	{
		servers: "Valkey 9.[1-9]*",
		reason:  "Valkey 9.1 reads no hexadecimal score.",
		steps: []string{
			`> ZADD z 0x10 hex`,
			`> ZSCORE z hex`,
			`> ZUNIONSTORE d 1 z`,
		},
	},
	{
		servers: "Redis 7.[24].*, Redis 8.*, Valkey *",
		reason:  "From 7.2 on a function may call blocking commands, which then do not block.",
		steps: []string{
			`@ return redis.call('BLPOP', keys[1], '0')`,
			`@ return redis.call('WAIT', '0', '0')`,
		},
	},
}
