package luahost

// Difference is one thing that a script sees otherwise here than on a real server.
type Difference struct {
	Name    string
	Snippet string // body of a function
	Redis   string // what 7.0.15 answers: 1, "bulk", +status, -error, nil, [array]
	Here    string
	Reason  string
}

// Differences are those that are known and left. Parity suites leave these out, and
// a test keeps the list honest. Errors are compared by their first word and their
// line only: the sentences of gopher-lua for type errors and syntax errors differ.
//
// Not shown by a snippet:
//   - pairs visits names in the order of their first assignment, and positions
//     before them, so cjson and cmsgpack write maps in that order;
//   - a table with an index up to 67108864 has all places below it: t[5e7] = 1
//     takes 800 MB;
//   - a function that loads fewer than 200 locals may not compile when its
//     expressions need the registers: gopher-lua has 200 of both together;
//   - Lua calls nest 20000 deep, in Redis 16384 before the first overflow of a server;
//   - collectgarbage('count') is always 64, and does not change;
//   - a status reply that a script keeps in a library-level local is lent again;
//   - math.random has its own sequence for each library, not for each server;
//   - library functions other than those of string patterns cannot be stopped by
//     Kill while they run, only the Lua around them;
//   - what crashes real servers does not crash here: error({}) answers
//     "ERR unknown error", redis.register_function() an error.
var Differences = []Difference{
	{
		"type errors have other sentences", `local x; return x.y`,
		`-ERR user_function:3: attempt to index local 'x' (a nil value) script: f, on @user_function:3.`,
		`-ERR user_function:3: attempt to index a nil value script: f, on @user_function:3.`,
		"gopher-lua does not know the variable's name",
	},
	{
		"calls and lengths of what has none", `return #nil`,
		`-ERR user_function:3: attempt to get length of a nil value script: f, on @user_function:3.`,
		`-ERR user_function:3: __len undefined script: f, on @user_function:3.`,
		"gopher-lua does not say the type",
	},
	{
		"a method's arguments are counted with the receiver", "local s = 'x'; return s:rep()",
		`-ERR user_function:3: bad argument #1 to 'rep' (number expected, got no value) script: f, on @user_function:3.`,
		`-ERR user_function:3: bad argument #2 to 'rep' (number expected, got no value) script: f, on @user_function:3.`,
		"a library function cannot know how it was called",
	},
	{
		"a negative zero as the result of +, -, * or /", `local zero = 0; return tostring(zero * -1)`,
		`"-0"`,
		`"0"`,
		"gopher-lua keeps the small whole numbers, and takes -0 for one of them; the literal -0 and unary minus are right",
	},
	{
		"the place of a stack overflow", `local function r() return 1 + r() end; return r()`,
		`-ERR user_function:3: stack overflow script: f, on @user_function:3.`,
		`-ERR stack overflow`,
		"gopher-lua has no room left to find it",
	},
	{
		"depth of calls by metamethods and library functions", `local n, t = 0; t = setmetatable({}, {__index = function(_, k) n = n + 1; return t[k] end}); pcall(function() return t.x end); return n < 200`,
		`1`,
		`nil`,
		"only pcall, xpcall and coroutines count: gopher-lua calls metamethods itself, 20,000 deep",
	},
	{
		"syntax errors have other sentences", `return {1, 2`,
		`-ERR Error compiling function: user_function:4: '}' expected (to close '{' at line 3) near 'end'`,
		`-ERR Error compiling function: user_function:4: syntax error near 'end'`,
		"gopher-lua's parser does not say what it expected",
	},
	{
		"any key to next", `return next({}, 1)`,
		`-ERR invalid key to 'next' script: f, on @user_function:3.`,
		`nil`,
		"gopher-lua does not tell a removed key, which is right, from another",
	},
	{
		"goto is a reserved word", `local goto = 5; return goto`,
		`5`,
		`-ERR Error compiling function: user_function:3: syntax error near 'goto'`,
		"gopher-lua's lexer",
	},
	{
		"escapes above 255", `return '\400'`,
		`-ERR Error compiling function: user_function:3: escape sequence too large near '''`,
		`"\x90"`,
		"gopher-lua's lexer; Redis names the string so far",
	},
	{
		"the length of a table with holes", `local t = {1,2,3}; t[5] = 9; return #t`,
		`3`,
		`5`,
		"any border is right in Lua; gopher-lua takes the last",
	},
	{
		"__len of tables", `return #setmetatable({}, {__len = function() return 7 end})`,
		`0`,
		`7`,
		"Lua 5.1 asks only userdata",
	},
	{
		"the place of errors in loaded strings", `return loadstring('return x')()`,
		`-ERR [string "return x"]:1: Script attempted to access nonexistent global variable 'x' script: f, on return x:1.`,
		`-ERR [string "return x"]:1: Script attempted to access nonexistent global variable 'x' script: f, on @[string "return x"]:1.`,
		"Redis prints the source",
	},
	{
		"bytecode", `return #string.dump(function() end) > 0 and 1`,
		`1`,
		`-ERR user_function:3: unable to dump given function script: f, on @user_function:3.`,
		"there is none; servers do not load it either",
	},
	{
		"numbers given to redis.call", `return redis.call('ECHO', 0.1)`,
		`"0.10000000000000001"`,
		`"0.1"`,
		"as since 7.2",
	},
	{
		"os.clock", `return type(os.clock)`,
		`-ERR user_function:3: Script attempted to access nonexistent global variable 'os' script: f, on @user_function:3.`,
		`"function"`,
		"as since 7.2",
	},
	{
		"arguments of redis.set_repl", `redis.set_repl()`,
		`-ERR redis.set_repl() requires two arguments. script: f, on @user_function:3.`,
		`-ERR redis.set_repl() requires one argument. script: f, on @user_function:3.`,
		"as since 7.2",
	},
	{
		"the text for a wrong log level", `redis.log(10, 'x')`,
		`-ERR Invalid debug level. script: f, on @user_function:3.`,
		`-ERR Invalid log level. script: f, on @user_function:3.`,
		"as since 7.2",
	},
}
