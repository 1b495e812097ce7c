package luahost

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCall_goesOnAfterAnError(t *testing.T) {
	l := mustLoad(t, `
redis.register_function('bad', function()
  local x = 1
  local get = function() return x end
  error('boom')
end)
redis.register_function('good', function(keys, args)
  local x = 2
  local get = function() return x end
  x = 3
  return {keys[1], args[1], get()}
end)`)
	for range 2000 { // more than the stacks hold, should a call leave something on them
		if v := l.Call("bad", nil, nil, &fakeHost{}); v.Str != "ERR user_function:6: boom script: bad, on @user_function:6." {
			t.Fatal(render(v))
		}
		if v := l.Call("good", []string{"k"}, []string{"a"}, &fakeHost{}); render(v) != `["k" "a" 3]` {
			t.Fatal(render(v))
		}
	}
}

func TestCall_lineFeedsDoNotBreakTheReply(t *testing.T) {
	l := mustLoad(t, `redis.register_function('f', function(_, a) error(a[1]) end)`)
	v := l.Call("f", nil, []string{"x\r\n+OK\r\n"}, &fakeHost{})
	if strings.ContainsAny(v.Str, "\r\n") {
		t.Errorf("%q", v.Str)
	}
}

func TestCall_logReachesTheHost(t *testing.T) {
	l := mustLoad(t, `redis.register_function('f', function() redis.log(redis.LOG_WARNING, 'a', 1, nil, 'b') end)`)
	h := &fakeHost{}
	l.Call("f", nil, nil, h)
	if diff := cmp.Diff([]string{"a 1 b"}, h.logs); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestCall_panicOfTheHostIsNotTheScripts(t *testing.T) {
	l := mustLoad(t, `redis.register_function('f', function() return pcall(redis.call, 'PANIC') end)`)
	defer func() {
		if r := recover(); r == nil {
			t.Error("the panic was swallowed")
		}
	}()
	l.Call("f", nil, nil, &fakeHost{})
}

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

func TestCompiled_keepsTheLastSources(t *testing.T) {
	var c compiledSources
	for i := range maxCompiled {
		mustCompile(t, &c, "return "+strconv.Itoa(i))
	}
	mustCompile(t, &c, "return 0") // used again, and so kept longer than the next
	mustCompile(t, &c, "return 'one more'")
	has := func(source string) bool {
		for _, k := range c.kept {
			if k.source == source {
				return true
			}
		}
		return false
	}
	if len(c.kept) != maxCompiled || !has("return 0") || has("return 1") || !has("return 2") {
		t.Errorf("%d kept: return 0 %t, return 1 %t, return 2 %t", len(c.kept), has("return 0"), has("return 1"), has("return 2"))
	}
	mustCompile(t, &c, "return '"+strings.Repeat("x", maxCompiledSize)+"'")
	if _, _, err := c.get("return =", false); err == nil || len(c.kept) != maxCompiled || c.kept[0].source != "return 'one more'" {
		t.Errorf("%v, first %.40q: a source that is too large or does not compile is kept", err, c.kept[0].source)
	}
}

func TestCompiled_librariesOfOneSourceShareNoState(t *testing.T) {
	const source = `local n = 0
redis.register_function('f', function() n = n + 1 return {n, redis.call('PING'), math.max(n, 0), ('%d'):format(n)} end)`
	first := mustLoad(t, source)
	first.Call("f", nil, nil, &fakeHost{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			l, err := Load("#!lua name=t\n"+source, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if got := render(l.Call("f", nil, nil, &fakeHost{})); got != `[1 +PONG 1 "1"]` {
				t.Error(got)
			}
		})
	}
	group.Wait()
	if got := render(first.Call("f", nil, nil, &fakeHost{})); got != `[2 +PONG 2 "2"]` {
		t.Error(got)
	}
}

func mustCompile(t *testing.T, c *compiledSources, source string) {
	t.Helper()
	if _, _, err := c.get(source, false); err != nil {
		t.Fatal(err)
	}
}
