package luahost

import (
	"strconv"
	"strings"
	"sync"
	"testing"
)

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
