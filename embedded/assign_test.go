package embedded_test

import (
	"testing"

	"github.com/rlfunc/rlfunc/embedded"
)

// gopher-lua compiles some assignments of `and` and `or` to a local that is there already so that the local keeps its value.
func TestEmbedded_assignsWhatAndAndOrAre(t *testing.T) {
	s := embedded.New(embedded.Options{})
	defer s.Close()
	for _, expression := range []string{
		"v and f() and x", "f() and v", "not v and x", "x and v", "v and x", "x or v", "f() or v", "v or f()", "x and f() or v", "f() and x or v", "(v or x) and v",
	} {
		library := `#!lua name=l
redis.register_function('f', function()
  local values, wrong = {'none', false, 1, 2}, {}
  for i = 1, 4 do
    for j = 1, 4 do
      for k = 1, 4 do
        local function f() return values[k] end
        local v, x = values[i], values[j]
        local want = ` + expression + `
        v = ` + expression + `
        if v ~= want then
          wrong[#wrong + 1] = tostring(v) .. ' in place of ' .. tostring(want)
        end
      end
    end
  end
  return wrong
end)`
		must(t, s.Client().FunctionLoadReplace(t.Context(), library).Err())
		if wrong, err := s.Client().FCall(t.Context(), "f", nil).StringSlice(); err != nil || len(wrong) > 0 {
			t.Errorf("v = %s: %q, %v", expression, wrong, err)
		}
	}
}

// Variables that were there already can be exchanged, which older versions of gopher-lua got wrong. Redis 7.0 has the same results.
func TestEmbedded_assignsSeveralAtOnce(t *testing.T) {
	s := embedded.New(embedded.Options{})
	defer s.Close()
	for statement, want := range map[string]string{
		"a, b = b, a":                            "2 1 3 10 20 30",
		"a, b, c = c, a, b":                      "3 1 2 10 20 30",
		"a, b, c = b, g()":                       "2 7 8 10 20 30",
		"t[1], t[2] = t[2], t[1]":                "1 2 3 20 10 30",
		"a, t[a] = t[a], a":                      "10 2 3 1 20 30",
		"a, t[a + 1] = a + 1, 99":                "2 2 3 10 99 30",
		"a, b = a + b, a - b":                    "3 -1 3 10 20 30",
		"local function f() a, b = b, a end f()": "2 1 3 10 20 30",
	} {
		library := "#!lua name=l\nredis.register_function('f', function()\nlocal function g() return 7, 8 end\nlocal a, b, c, t = 1, 2, 3, {10, 20, 30}\n" +
			statement + "\nreturn table.concat({a, b, c, t[1], t[2], t[3]}, ' ')\nend)"
		if err := s.Client().FunctionLoadReplace(t.Context(), library).Err(); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Client().FCall(t.Context(), "f", nil).Text(); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", statement, got, err, want)
		}
	}
}
