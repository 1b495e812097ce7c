package embedded_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
)

// values are what the function of every is applied to.
var values = []string{
	"nil", "true", "false", "0", "-0", "1", "-1", "1.5", "2^53", "1/0", "0/0", "''", "'a'", "'10'", "' 0x10 '", "'1e3'", "'nan'", "{}", "{1, 2, 3}",
	"{1, nil, 3}", "{n = 1}", "cjson.null", "tostring", "setmetatable({}, {__len = function() return 7 end, __unm = function() return 'm' end, " +
		"__lt = function() return true end, __le = function() return false end, __eq = function() return true end, __div = function() return 'd' end})",
}

// every is a library whose function applies each operator, and each function of Lua's libraries that returns at all, to a value, by its place,
// and each other one, and says what became of each.
func every() string {
	var b strings.Builder
	b.WriteString(`#!lua name=l
redis.register_function('every', function(_, args)
local values = {`)
	for i, v := range values {
		fmt.Fprintf(&b, "[%d] = %s, ", i+1, v)
	}
	b.WriteString("}\nlocal made = {\n")
	for operator := range strings.FieldsSeq("== ~= < <= > >= + - * / % ^ .. and or") {
		fmt.Fprintf(&b, "  function(a, b) return a %s b end,\n", operator)
	}
	for _, operator := range []string{"-", "not ", "#"} {
		fmt.Fprintf(&b, "  function(a) return %sa end,\n", operator)
	}
	b.WriteString("  function(a) return a.x end, function(a) return #a.x end, function(a, b) return a[b] end, function(a) a.x = 1 return a.x end,\n" +
		"  function(a, b) local n = 0 for i = a, b do n = n + 1 if n > 9 then break end end return n end,\n}\n")
	fmt.Fprintf(&b, `local unordered = {random = true, randomseed = true, pcall = true, xpcall = true}
local names = {}
for _, of in ipairs({'string', 'table', 'math', 'cjson', 'bit', 'cmsgpack'}) do
  for name in pairs(_G[of] or {}) do
    if not unordered[name] then names[#names + 1] = of .. ' ' .. name end
  end
end
for _, name in ipairs({'tostring', 'tonumber', 'type', 'select', 'unpack', 'next', 'rawequal', 'rawget', 'ipairs', 'assert'}) do
  names[#names + 1] = '_G ' .. name
end
table.sort(names)
local function said(ok, ...)
  local out = {ok and 'ok' or 'no'}
  for i = 1, select('#', ...) do
    local v = select(i, ...)
    out[#out + 1] = type(v) == 'table' and (v.err or 'table') or type(v) == 'function' and 'function' or tostring(v)
  end
  return table.concat(out, ' ')
end
  local out, i = {}, tonumber(args[1])
  for n, f in ipairs(made) do
    for j = 1, %[1]d do
      out[#out + 1] = 'operator ' .. n .. ' of ' .. i .. ' and ' .. j .. ': ' .. said(pcall(f, values[i], values[j]))
    end
  end
  for _, name in ipairs(names) do
    local of, f = string.match(name, '(%%S+) (%%S+)')
    for j = 1, %[1]d do
      if name ~= 'string rep' or i < 14 and j ~= 9 and j ~= 10 then
        out[#out + 1] = name .. ' of ' .. i .. ' and ' .. j .. ': ' .. said(pcall((of == '_G' and _G or _G[of])[f], values[i], values[j]))
      end
    end
  end
  return out
end)
`, len(values))
	return b.String()
}

var address = regexp.MustCompile(`0x[0-9a-f]+`)

// Who watches a function changes nothing: what raises on a server raises, and what returns there returns the same.
func TestObserver_changesNothing(t *testing.T) {
	results := func(o embedded.Options) (lines []string) {
		s := embedded.New(o)
		defer s.Close()
		must(t, s.Client().FunctionLoad(t.Context(), every()).Err())
		for i := range values { // a call each, because a server ends one that takes seconds
			all, err := s.Client().FCall(t.Context(), "every", nil, i+1).StringSlice()
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range all {
				line, _, _ = strings.Cut(line, ": no ")            // what raises says it in other words
				line = strings.ReplaceAll(line+" ", " -0 ", " 0 ") // gopher-lua loses the sign
				lines = append(lines, address.ReplaceAllString(line, "at"))
			}
		}
		return lines
	}
	plain, watched := results(embedded.Options{}), results(embedded.Options{Observer: &notes{}})
	if len(plain) < 10_000 {
		t.Fatalf("compared only %d", len(plain))
	}
	if diff := cmp.Diff(plain, watched); diff != "" {
		t.Errorf("(-plain +watched)\n%s", diff)
	}
}
