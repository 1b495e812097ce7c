package luahost

import (
	"regexp"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// basePCall is Redis's pcall: an error table with a text arrives as the text.
func (l *Library) basePCall(c call) int {
	if c.GetTop() == 0 {
		c.Push(lua.LTrue) // what Redis pushes for the result, it then calls
	}
	v := c.any(1)
	if v.Type() != lua.LTFunction && c.GetMetaField(v, "__call").Type() != lua.LTFunction {
		c.Push(lua.LFalse)
		c.Push(lua.LString("attempt to call a " + v.Type().String() + " value"))
		return 2
	}
	if l.nested >= maxNested-1 {
		c.Push(lua.LFalse)
		c.Push(lua.LString(tooNested))
		return 2
	}
	if err := l.protected(c.LState, c.GetTop()-1, lua.MultRet, l.handler); err != nil {
		c.Push(lua.LFalse)
		switch raised := l.caught(err).(type) {
		case *lua.LTable:
			text := l.env.behind(raised).RawGetString("err")
			if lua.LVCanConvToString(text) {
				c.Push(text)
				return 2
			}
			// Redis forgets what it has looked up.
			c.Push(raised)
			c.Push(text)
			return 3
		case lua.LString:
			if f, ok := v.(*lua.LFunction); ok && f.IsG {
				raised = withoutPlace(raised)
			}
			c.Push(raised)
		default:
			c.Push(raised)
		}
		return 2
	}
	c.Insert(lua.LTrue, 1)
	return c.GetTop()
}

const tooNested = "C stack overflow"

// protected is PCall. With a handler gopher-lua leaves the locals of the callers alone; without one closures lose their
// connection to them when an error is raised, and it describes each of 20,000 calls.
func (l *Library) protected(L *lua.LState, nargs, nret int, handler *lua.LFunction) error {
	outside := l.nested
	l.nested++
	err := L.PCall(nargs, nret, handler)
	l.nested = outside
	return err
}

// located is the handler of a call from outside: it notes where the error was raised, while the stack still knows it.
func (l *Library) located(L *lua.LState) int {
	l.raisedAt = innermost(L)
	return 1
}

// innermost is where the innermost function of Lua is, as "user_function:3: ".
func innermost(L *lua.LState) string {
	for level := 0; ; level++ {
		if _, ok := L.GetStack(level); !ok {
			return ""
		}
		if where := whereIs(L, level); where != "" {
			return where
		}
	}
}

// badArgument is what a library function says of its arguments.
var badArgument = regexp.MustCompile(`^[^\n]*?:\d+: (bad argument #\d+ to )'\w+'`)

// withoutPlace is an error of a library function that pcall itself has called: no line of Lua has, and nothing has named it.
func withoutPlace(text lua.LString) lua.LString {
	return lua.LString(badArgument.ReplaceAllString(string(text), "$1'?'"))
}

func (l *Library) baseXPCall(c call) int {
	handler, f := c.any(2), c.any(1)
	h, callable := handler.(*lua.LFunction)
	if !callable {
		h = l.handler
	}
	c.SetTop(2)
	c.Push(f)
	if err := l.protected(c.LState, 0, lua.MultRet, h); err != nil {
		raised := l.caught(err)
		if fault, ok := err.(*lua.ApiError); !callable || ok && fault.StackTrace != "" { // of an error in h
			raised = lua.LString("error in error handling")
		}
		c.Push(lua.LFalse)
		c.Push(raised)
		return 2
	}
	c.Insert(lua.LTrue, 3)
	return c.GetTop() - 2
}

// caught is the value that was raised. A fault of the host is passed on.
func (l *Library) caught(err error) lua.LValue {
	if l.inHost {
		panic(err)
	}
	e, ok := err.(*lua.ApiError)
	if !ok {
		return lua.LString(err.Error())
	}
	if text, ok := e.Object.(lua.LString); ok {
		return lua.LString(reworded(string(text)))
	}
	return e.Object
}

// vmErrors are sentences of gopher-lua that Lua 5.1 words in another way.
var vmErrors = []struct {
	part    string // a text without it is not of this kind
	pattern *regexp.Regexp
	lua     string
}{
	{"non-table object", regexp.MustCompile(`(?s)^(\S*: )?attempt to index a non-table object\((\w+)\) with key '.*'$`), "${1}attempt to index a $2 value"},
	{"cannot perform", regexp.MustCompile(`^(\S*: )?cannot perform \w+ operation between (?:number|string) and (\w+)$`), "${1}attempt to perform arithmetic on a $2 value"},
	{"cannot perform", regexp.MustCompile(`^(\S*: )?cannot perform \w+ operation between (\w+) and \w+$`), "${1}attempt to perform arithmetic on a $2 value"},
	{"callstack", regexp.MustCompile(`^lua callstack overflow$`), "stack overflow"},
	{"registry", regexp.MustCompile(`^(\S*: )?registry overflow$`), "${1}stack overflow"},
	{"attempt to compare", regexp.MustCompile(`^(\S*: )?attempt to compare (boolean with boolean|nil with nil|table with table|function with function)$`), "${1}attempt to compare two $2 values"},
}

var sameTypes = strings.NewReplacer("boolean with boolean", "boolean", "nil with nil", "nil", "table with table", "table", "function with function", "function")

// reworded gives an error of the interpreter the words of Lua 5.1, but for the name of the variable, which gopher-lua does not know.
func reworded(text string) string {
	for _, e := range vmErrors {
		if !strings.Contains(text, e.part) {
			continue
		}
		if out := e.pattern.ReplaceAllString(text, e.lua); out != text {
			return sameTypes.Replace(out)
		}
	}
	return text
}
