package luahost

import (
	"regexp"
	"strings"
)

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
