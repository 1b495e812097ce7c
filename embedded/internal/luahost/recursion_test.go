package luahost

import "testing"

// An error at depth is as cheap as one without: gopher-lua's own description of the calls took 3 s.
func TestCall_recursionHasTheDepthOfLua(t *testing.T) {
	tests := []struct{ name, code, want string }{
		{"calls", `local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end; return f(16000)`, "16000"},
		{
			"calls with many locals",
			`local function f(n) local a1,a2,a3,a4,a5,a6,a7,a8,a9,b1,b2,b3,b4,b5,b6,b7,b8,b9 = 1 if n == 0 then return 0 end return a1 + f(n - 1) end; return f(16000)`,
			"16000",
		},
		{
			"an error in the deepest call",
			`local function f(n) if n == 0 then error('deep') end return 1 + f(n - 1) end; return f(16000)`,
			"-ERR user_function:3: deep script: f, on @user_function:3.",
		},
		{"without end", `local function f() return 1 + f() end; return select(2, pcall(f))`, `"stack overflow"`},
		{"after an overflow", `local function f() return 1 + f() end; pcall(f) return 1`, "1"},
		{
			"without end in a coroutine",
			`local function f() return 1 + f() end; return select(2, coroutine.resume(coroutine.create(f)))`,
			`"stack overflow"`,
		},
		{
			"without end by metamethods",
			`local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}); return select(2, pcall(function() return t[1] end))`,
			`"stack overflow"`,
		},
		{
			"without end by a library function",
			`local function f() return (string.gsub('a', 'a', f)) end; return select(2, pcall(f))`,
			`"stack overflow"`,
		},
		{
			"protected calls",
			`local n = 0 local function f() n = n + 1 local ok, e = pcall(f) if not ok then error(e, 0) end end; local _, e = pcall(f) return {n, e}`,
			`[198 "C stack overflow"]`,
		},
		{
			"coroutines",
			`local n = 0 local function f() n = n + 1 local _, e = coroutine.resume(coroutine.create(f)) return e or 'end' end; return {n, f(), n}`,
			`[0 "C stack overflow" 200]`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := mustLoad(t, "redis.register_function('f', function(keys, args)\n"+test.code+"\nend)")
			for range 2 {
				if got := render(l.Call("f", nil, nil, &fakeHost{})); got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
			}
		})
	}
}

func BenchmarkCall_raisedAtDepth(b *testing.B) {
	l := mustLoad(b, `
local function deep(n) if n == 0 then error('x') end return 1 + deep(n - 1) end
redis.register_function('f', function() return deep(16000) end)`)
	h := &fakeHost{}
	for b.Loop() {
		l.Call("f", nil, nil, h)
	}
}
