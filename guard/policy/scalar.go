package policy

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// scalar fills in a value that is neither a section nor a list. It reads whole numbers and amounts from their text, without a float64.
func (d *decoder) scalar(path string, n ast.Node, v reflect.Value) {
	text, isText := textOf(n)
	number, isNumber := numberOf(n)
	switch {
	case v.Type() == durationType:
		duration, err := parseDuration(text)
		if !isText || err != nil {
			d.wrong(path, n, "%v, got %s", errDuration, describe(n))
			return
		}
		v.SetInt(int64(duration))
	case v.Type() == microsType:
		amount, err := ParseMicros(text + number)
		if err != nil || !isText && !isNumber {
			if err == nil {
				err = errMicros
			}
			d.wrong(path, n, "%v, got %s", err, describe(n))
			return
		}
		v.SetInt(int64(amount))
	case v.Kind() == reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			d.wrong(path, n, "must be true or false, got %s", describe(n))
			return
		}
		v.SetBool(b.Value)
	case v.Kind() == reflect.String:
		if v.Type() == startsType {
			text, isText = text+number, isText || isNumber
		}
		if !isText {
			d.wrong(path, n, "must be text, got %s", describe(n))
			return
		}
		v.SetString(text)
	case v.Kind() == reflect.Float64:
		f, err := strconv.ParseFloat(number, 64)
		if err != nil {
			d.wrong(path, n, "must be a number, got %s", describe(n))
			return
		}
		v.SetFloat(f)
	default:
		whole, err := strconv.ParseInt(number, 10, v.Type().Bits())
		if err != nil || number[0] == '+' {
			d.wrong(path, n, "must be a whole number, got %s", describe(n))
			return
		}
		v.SetInt(whole)
	}
}

func textOf(n ast.Node) (string, bool) {
	switch node := n.(type) {
	case *ast.StringNode:
		return node.Value, true
	case *ast.LiteralNode:
		return node.Value.Value, true
	}
	return "", false
}

func numberOf(n ast.Node) (string, bool) {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// describe names a value of the file for a message.
func describe(n ast.Node) string {
	switch node := n.(type) {
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return quote(node.Value)
	case *ast.LiteralNode:
		return quote(node.Value.Value)
	case *ast.NullNode:
		return "nothing"
	}
	return strings.Trim(quote(n.GetToken().Value), `"`)
}
