package luasrc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }

// Code that real servers refuse to load is a finding with its line; code that they load is not.
func TestParse_refusesWhatServersRefuse(t *testing.T) {
	cases := []struct {
		body string
		want []string
	}{
		{"return 1", nil},
		{"break", []string{"4:3"}},
		{"if keys then break end", []string{"4:16"}},
		{"while true do break end", nil},
		{"for i = 1, 2 do if i then break end end", nil},
		{"repeat break until true", nil},
		{"for _ in ipairs(keys) do break end", nil},
		{"while true do local f = function() break end end", []string{"4:38"}},
		{"return ...", []string{"4:10"}},
		{"return {...}", []string{"4:11"}},
		{"return #({...})", []string{"4:13"}},
		{"return {..., ...}", []string{"4:11", "4:16"}},
		{"local f = function(...) return {...} end return f(1)", nil},
		{"local f = function(...) return function() return ... end end return f(1)", []string{"4:52"}},
		{"return '\\255\\0' .. \"\\300\"", []string{"4:22"}},
		{"local a = 1;;", []string{"4:15"}},
		{";", []string{"4:3"}},
		{"if keys then ; end", []string{"4:16"}},
		{"return {1,,2}", []string{"4:13"}},
		{"return {1, 2,}, {1; 2}", nil},
		{"local a = value\n  (value)()", []string{"5:3"}},
		{"local a\n  (value)()", nil},
		{"local a, b\n  (value)()", nil},
		{"local a = 5\n  (value)()", nil},
		{"value()\n  ;(value)()", nil},
		{"local g = function(a, ...)\n  (value)() end", nil},
		{"value'x'\n  (value)()", []string{"5:3"}},
		{"value{1}\n  (value)()", []string{"5:3"}},
		{"value{{}, {1}}\n  (value)()", []string{"5:3"}},
		{"local a = 'x'\n  (value)()", nil},
		{"local a = {1}\n  (value)()", nil},
		{"return " + strings.Repeat("(", 20) + "1" + strings.Repeat(")", 20), nil},
		{"return " + strings.Repeat("(1 + ", 20) + "1" + strings.Repeat(")", 20) + " + " + strings.Repeat("(1 + ", 20) + "1" + strings.Repeat(")", 20), nil},
		{"return " + strings.Repeat("value(", 100) + "1" + strings.Repeat(")", 100), nil},
		{"return " + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200), []string{"4:30"}},
		{"local a = 0x", []string{"4:14"}},
		{"local a = 3..2", []string{"4:16"}},
		{"local a = 1e", []string{"4:13"}},
		{"local a = value ~= 1 != 2", []string{"4:24"}},
		{"while true do break local b = 1 end", []string{"4:27"}},
		{"return 0x10 + 1e3 + .5 + 5. + 1.5E-2", nil},
	}
	for _, c := range cases {
		text := fmt.Sprintf("#!lua name=loadable\nlocal value = 1\nlocal function f(keys)\n  %s\nend\nredis.register_function('loadable_f', f)\n", c.body)
		_, found := luasrc.Parse("f.lua", "--"+text[2:])
		var got []string
		for _, d := range found {
			got = append(got, fmt.Sprintf("%d:%d", d.Line, d.Col))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s%v", c.body, d, found)
		}
		for _, e := range engines.AllReal(t) {
			rdb := e.Client(t)
			err := rdb.FunctionLoadReplace(t.Context(), text).Err()
			if (err == nil) != (c.want == nil) {
				t.Errorf("%s: %s loads it: %v", c.body, e.Name, err)
			}
		}
	}
}
