package parity_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// An expr is an expression of Lua: a form with a verb for each part.
type expr struct {
	form  string
	parts []*expr
}

func (e *expr) String() string {
	values := make([]any, len(e.parts))
	for i, p := range e.parts {
		values[i] = p.String()
	}
	return fmt.Sprintf(e.form, values...)
}

// forms are by the type of their value; a letter behind % names the type of a part: number, string, boolean, list, value or function.
var forms = map[byte][]string{
	'n': {
		"(%n + %n)", "(%n - %n)", "(%n * %n)", "(%n / %n)", "(%n %% %n)", "(-%n)", "(%n ^ 2)", "#%s", "#%l", "(%s + %n)", "tonumber(%s)", "tonumber(%s, 16)", "tonumber(%n)",
		"math.floor(%n)", "math.ceil(%n)", "math.abs(%n)", "math.max(%n, %n)", "math.min(%n, %n)", "math.fmod(%n, %n)", "math.sqrt(%n)", "select('#', %v, %v)", "select(2, math.modf(%n))",
		"bit.band(%n, %n)", "bit.bor(%n, %n)", "bit.bxor(%n, %n)", "bit.lshift(%n, %n)", "bit.rshift(%n, %n)", "bit.arshift(%n, %n)", "bit.bnot(%n)", "bit.tobit(%n)", "bit.rol(%n, %n)", "bit.bswap(%n)",
		"string.byte(%s, %n)", "string.find(%s, %s, %n, true)", "select(2, string.gsub(%s, %p, '<%%0>'))", "string.find(%s, %p)", "table.maxn(%l)", "select(2, unpack(%l))",
		"redis.call('APPEND', keys[1], %s)", "redis.call('STRLEN', keys[1])", "redis.call('LPUSH', keys[2], %v)", "redis.call('LLEN', keys[2])", "(%v and %n or %n)",
	},
	's': {
		"(%s .. %s)", "(%n .. %s)", "tostring(%n)", "tostring(%b)", "string.sub(%s, %n, %n)", "string.rep(%s, 3)", "string.upper(%s)", "string.lower(%s)", "string.reverse(%s)", "type(%v)",
		"string.format('%%d', %n)", "string.format('%%5.2f|%%g', %n, %n)", "string.format('%%q', %s)", "string.format('%%x', %n)", "string.format('%%-8s|', %s)", "string.format('%%.3s', %s)",
		"string.format('%%e', %n)", "string.format('%%c', %n)", "string.format('%%i %%u', %n, %n)", "string.format('%%+.14g', %n)", "string.format('%%05d', %n)",
		"string.gsub(%s, %p, %s)", "string.match(%s, %p)", "table.concat(%l, %s)", "table.concat(%l, ',', %n, %n)", "cjson.encode(%v)", "cjson.encode(%l)", "string.char(65, 0, 255)",
		"cmsgpack.pack(%v)", "cmsgpack.pack(%n, %s)", "struct.pack('>I2', %n)", "struct.pack('<i4', %n)", "struct.pack('>d', %n)", "struct.pack('s', %s)", "struct.pack('Bc0', #%s, %s)", "bit.tohex(%n)", "redis.sha1hex(%s)",
		"redis.call('ECHO', %s)", "redis.call('TYPE', keys[1]).ok", "redis.pcall('INCR', keys[2]).err", "redis.error_reply(%s).err", "redis.status_reply(%s).ok", "string.gsub(%s, '%%w+', function(w) return #w end)",
	},
	'b': {"(%n < %n)", "(%n <= %n)", "(%s < %s)", "(%v == %v)", "(%v ~= %v)", "not %v", "(%b and %b)", "(%b or %b)", "rawequal(%v, %v)", "pcall(error, %v)", "(next(%l) == nil)"},
	'l': {
		"{}", "{%v}", "{%v, %v}", "{%n, %s, {%n}}", "{string.byte(%s, 1, -1)}", "{string.find(%s, %p)}", "{string.match(%s, %p)}", "cjson.decode(%j)", "{cmsgpack.unpack(cmsgpack.pack(%v))}", "{unpack(%l)}", "{pcall(tonumber, %s)}",
		"cjson.decode(cjson.encode(%l))", "{struct.unpack('>I2', %s)}", "{struct.unpack('<i4d', struct.pack('<i4d', %n, %n))}", "{math.modf(%n)}", "{math.frexp(%n)}", "{select(%n, %v, %v)}", "redis.call('LRANGE', keys[2], %n, %n)",
		"(function() local t = %l table.insert(t, %v) return t end)()", "(function() local t = %l table.remove(t) return t end)()", "(function() local t = {%n, %n, %n} table.sort(t) return t end)()", "redis.call('MGET', keys[1], keys[2])",
		"(function() local t = {} for w in string.gmatch(%s, %p) do t[#t + 1] = w end return t end)()", "(function() local t = {} for i = %n, %n, 7 do t[#t + 1] = i if #t > 5 then break end end return t end)()",
	},
	'p': {"'%%a+'", "'.'", "'(%%w)(%%w)'", "'^a'", "'b$'", "'[^%%d]'", "'a-b'", "'%%s*'", "'()'", "'[a-c]+'", "'%%%%'", "'%%b()'", "'x?'", "'(a*(.)%%w(%%s*))'", "'%%f[%%w]%%w+'", "'['", "'%%'", "''"},
	'j': {"'[1, 2.5, -3e2, \"a\\\\u0041\", true, null]'", "'{\"a\": [1]}'", "'[]'", "'{}'", "' [1 , [2]] '", "'[1,]'", "'nul'", "'\"x\"'", "'[1e400]'", "'[9007199254740993]'", "'[\"\\\\ud83d\\\\ude00\"]'", "%s"},
}

// leaves are the smallest expressions of each type.
var leaves = map[byte][]string{
	'n': {"0", "1", "2", "-1", "3.7", "-0.5", "255", "1e15", "2^31", "2^32", "2^53", "-2^31", "1e100", "1/0", "-1/0", "0.1", "65", "7"},
	's': {"''", "'a'", "'abc'", "'10'", "'0x1F'", "' 5 '", "'1e2'", "'a b  c'", "'x=1, y=(2)'", "'\\0z'", "'\\255'", "'héllo'", "'%%d'", "args[1]", "'-0'", "'inf'", "'nan'", "'99999999999999999999'"},
	'b': {"true", "false"},
	'l': {"{}", "{1, 2, 3}", "{'a', 'b'}", "{{}}", "{1.5, 'x', true}"},
}

// newExpr makes an expression of a type, of at most depth levels.
func newExpr(r *rand.Rand, kind byte, depth int) *expr {
	if kind == 'v' {
		kind = pick(r, []byte("nnsbl")...)
	}
	form := ""
	if simple := leaves[kind]; simple != nil && (depth == 0 || r.IntN(4) == 0) {
		form = pick(r, simple...)
	} else {
		form = pick(r, forms[kind]...)
	}
	e := &expr{}
	var b strings.Builder
	for i := 0; i < len(form); i++ {
		b.WriteByte(form[i])
		if form[i] != '%' {
			continue
		}
		if i++; form[i] == '%' {
			b.WriteByte('%')
			continue
		}
		b.WriteByte('s')
		e.parts = append(e.parts, newExpr(r, form[i], max(depth-1, 0)))
	}
	e.form = b.String()
	return e
}

// program returns the body of a function that shows the value of each expression, or that it raises an error.
func program(exprs []*expr) string {
	var b strings.Builder
	b.WriteString(show)
	b.WriteString(" return {")
	for i, e := range exprs {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "show(function() return %s end)", e)
	}
	b.WriteString("}")
	return b.String()
}

// show writes numbers with all their digits and tables with their places. It hides the order of pairs, which Lua does not define.
const show = `local function text(v, depth) if type(v) == 'number' then return string.format('%.17g', v) elseif type(v) == 'string' then return string.format('%q', v) ` +
	`elseif type(v) ~= 'table' then return tostring(v) elseif depth > 4 then return 'deep' end local all = {} for k, e in pairs(v) do all[#all + 1] = tostring(k) .. '=' .. text(e, depth + 1) end ` +
	`table.sort(all) return '{' .. table.concat(all, ' ') .. '}' end ` +
	`local function show(f) local r = {pcall(f)} if not r[1] then return 'error' end return text(r[2], 0) end`
