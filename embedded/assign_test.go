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
