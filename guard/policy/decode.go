package policy

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/rlfunc/rlfunc/internal/spelling"
)

// maxValues is the most values of a file, with aliases expanded.
const maxValues = 300_000

// A decoder fills in a policy from a tree of YAML, and records the position of each value.
type decoder struct {
	found   problems
	aliases map[*ast.AliasNode]ast.Node
	open    map[ast.Node]bool       // aliased nodes that are being decoded
	at      map[string]*token.Token // by path
	bad     map[string]bool         // paths of values that could not be read; they have no other problems
	values  int
}

func newDecoder(root ast.Node) *decoder {
	return &decoder{aliases: resolveAliases(root), open: map[ast.Node]bool{}, at: map[string]*token.Token{}, bad: map[string]bool{}}
}

func (d *decoder) isGiven(path string) bool { return d.at[path] != nil }

// isBad reports whether the value of a path, or of a parent, could not be read.
func (d *decoder) isBad(path string) bool {
	for ; path != ""; path = parent(path) {
		if d.bad[path] {
			return true
		}
	}
	return d.bad[""]
}

// locate adds a position to a problem: that of its path, or else of the nearest parent. A problem with a whole entry is at the
// entry's name.
func (d *decoder) locate(p Problem) Problem {
	p.Line, p.Column = 1, 1
	if name := d.at[p.Path+".name"]; name != nil && strings.HasSuffix(p.Path, "]") {
		p.Line, p.Column = position(name)
		return p
	}
	for path := p.Path; ; path = parent(path) {
		if t := d.at[path]; t != nil {
			p.Line, p.Column = position(t)
			return p
		}
		if path == "" {
			return p
		}
	}
}

// parent cuts the last key or index off a path.
func parent(path string) string {
	if strings.HasSuffix(path, `"]`) {
		return path[:strings.LastIndex(path[:len(path)-len(`"]`)], `["`)]
	}
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

func (d *decoder) wrong(path string, n ast.Node, format string, args ...any) {
	d.bad[path] = true
	d.add(path, n.GetToken(), format, args...)
}

func (d *decoder) add(path string, t *token.Token, format string, args ...any) {
	d.found.add(path, format, args...)
	last := &d.found[len(d.found)-1]
	last.Line, last.Column = position(t)
}

// decode fills in v from the value at path.
func (d *decoder) decode(path string, n ast.Node, v reflect.Value) {
	if d.values++; d.values > maxValues {
		if d.values == maxValues+1 {
			d.bad[""] = true
			d.add(path, n.GetToken(), "must have at most %d values, with aliases expanded", maxValues)
		}
		return
	}
	n, done := d.follow(path, n)
	if n == nil {
		return
	}
	defer done()
	if _, ok := n.(*ast.NullNode); ok {
		delete(d.at, path) // an empty `limits:` counts as omitted
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(path, n, v.Elem())
	case reflect.Struct:
		d.section(path, n, v)
	case reflect.Slice:
		if v.Type() == byType {
			d.by(path, n, v)
			return
		}
		d.list(path, n, v)
	case reflect.Map:
		d.mapping(path, n, v)
	default:
		d.scalar(path, n, v)
	}
}

func (d *decoder) section(path string, n ast.Node, v reflect.Value) {
	entries, ok := d.entries(path, n)
	if !ok {
		return
	}
	fields := fieldsOf(v.Type())
	for _, e := range entries {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == e.key })
		switch {
		case i >= 0:
			at := join(path, e.key)
			d.at[at] = e.where()
			d.decode(at, e.value, v.Field(fields[i].index))
		case path == "" && strings.HasPrefix(e.key, "x-"):
		default:
			keys := make([]string, len(fields))
			for i, f := range fields {
				keys[i] = f.key
			}
			d.add(path, e.token, "unknown key %s%s", quote(e.key), spelling.DidYouMean(e.key, keys))
		}
	}
}

func (d *decoder) list(path string, n ast.Node, v reflect.Value) {
	sequence, ok := n.(*ast.SequenceNode)
	if !ok {
		d.wrong(path, n, "must be a list, got %s", describe(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(sequence.Values), len(sequence.Values)))
	for i, element := range sequence.Values {
		at := path + "[" + strconv.Itoa(i) + "]"
		d.at[at] = first(element)
		if _, ok := element.(*ast.NullNode); ok {
			d.wrong(at, element, "must not be empty")
			continue
		}
		d.decode(at, element, v.Index(i))
	}
}

// by fills in one identity, or a list of them.
func (d *decoder) by(path string, n ast.Node, v reflect.Value) {
	text, isText := textOf(n)
	_, isList := n.(*ast.SequenceNode)
	switch {
	case isText:
		v.Set(reflect.ValueOf(By{text}))
	case isList:
		d.list(path, n, v)
	default:
		d.wrong(path, n, "must be an identity or a list of identities, got %s", describe(n))
	}
}

// entryPath returns the path of an entry of a map, whose key is a name, or a subject of any bytes.
func entryPath(path, key string, t reflect.Type) string {
	if t.Elem().Kind() == reflect.Struct {
		return structPath(path, key)
	}
	return path + "[" + strconv.Quote(key) + "]"
}

// structPath returns the path of a section of a map.
func structPath(path, key string) string {
	if checkIdentity(key) == "" {
		return join(path, key)
	}
	return path + "[" + strconv.Quote(key) + "]"
}

func (d *decoder) mapping(path string, n ast.Node, v reflect.Value) {
	entries, ok := d.entries(path, n)
	if !ok {
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(entries)))
	for _, e := range entries {
		at := entryPath(path, e.key, v.Type())
		d.at[at] = e.where()
		value := reflect.New(v.Type().Elem()).Elem()
		d.decode(at, e.value, value)
		if d.at[at] == nil {
			d.at[at] = e.token
			d.wrong(at, e.value, "must not be empty")
		}
		v.SetMapIndex(reflect.ValueOf(e.key), value)
	}
}
