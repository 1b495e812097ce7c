package policy

import (
	"errors"
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
	at      map[string]*token.Token // by path
	bad     map[string]bool         // paths of values that could not be read; they have no other problems
	values  int
	byPlan  []planValue
}

func newDecoder(root ast.Node) *decoder {
	return &decoder{aliases: resolveAliases(root), at: map[string]*token.Token{}, bad: map[string]bool{}}
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
	at := d.at[p.Path]
	if name := d.at[p.Path+".name"]; name != nil && strings.HasSuffix(p.Path, "]") {
		at = name
	}
	for path := p.Path; at == nil && path != ""; {
		path = parent(path)
		at = d.at[path]
	}
	p.Line, p.Column = position(at)
	return p
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
	if n = d.follow(path, n); n == nil {
		return
	}
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
			if n := d.follow(at, e.value); fields[i].plans && n != nil && n.Type() == ast.MappingType {
				d.plans(path, &fields[i], n, v.Field(fields[i].index))
				continue
			}
			d.decode(at, e.value, v.Field(fields[i].index))
		case path == "" && strings.HasPrefix(e.key, "x-"):
		default:
			keys := make([]string, len(fields))
			for i, f := range fields {
				keys[i] = f.key
			}
			meant := e.key
			if same := synonyms[e.key]; slices.Contains(keys, same) {
				meant = same
			}
			d.add(path, e.token, "unknown key %s%s", quote(e.key), spelling.DidYouMean(meant, keys))
		}
	}
}

// synonyms are words for keys that are too far from them to be a misspelling.
var synonyms = map[string]string{"abuse": "blocks", "cost": "budgets", "costs": "budgets", "period": "window", "per": "window", "requests": "limit", "max": "limit"}

// list fills in a list. A by may also be one identity.
func (d *decoder) list(path string, n ast.Node, v reflect.Value) {
	sequence, isList := n.(*ast.SequenceNode)
	text, isText := textOf(n)
	switch isBy := v.Type() == byType; {
	case isList:
	case isBy && isText:
		v.Set(reflect.ValueOf(By{text}))
		return
	case isBy:
		d.wrong(path, n, "must be an identity or a list of identities, got %s", describe(n))
		return
	default:
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

// entryPath returns the path of an entry of a map, whose key is a name, or a subject of any bytes.
func entryPath(path, key string, t reflect.Type) string {
	if t.Elem().Kind() == reflect.Struct {
		return structPath(path, key)
	}
	return path + "[" + strconv.Quote(key) + "]"
}

// structPath returns the path of a section of a map.
func structPath(path, key string) string {
	if is("identity", key) {
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

// An entry is a key of a mapping with its value.
type entry struct {
	key   string
	token *token.Token // of the key
	value ast.Node
}

// where returns the position for problems of the value: a scalar itself, or the key of a section or list.
func (e entry) where() *token.Token {
	switch e.value.(type) {
	case *ast.MappingNode, *ast.SequenceNode, *ast.NullNode, *ast.AnchorNode, *ast.AliasNode:
		return e.token
	}
	return e.value.GetToken()
}

// entries returns the entries of a mapping with its merges. Its own keys win, then those of earlier merges.
func (d *decoder) entries(path string, n ast.Node) ([]entry, bool) {
	var own, merged []entry
	has := map[string]bool{}
	mapping, ok := n.(*ast.MappingNode)
	if !ok {
		d.wrong(path, n, "must be a mapping, got %s", describe(n))
		return nil, false
	}
	for _, pair := range mapping.Values {
		if pair.Key.IsMergeKey() {
			merged = append(merged, d.merged(path, pair.Value)...)
			continue
		}
		key, ok := keyText(pair.Key)
		switch {
		case !ok:
			d.add(path, pair.Key.GetToken(), "must have a plain-text key")
		case has[key]:
			d.add(path, pair.Key.GetToken(), "duplicate key %s", quote(key))
		default:
			has[key] = true
			own = append(own, entry{key, pair.Key.GetToken(), pair.Value})
		}
	}
	for _, e := range merged {
		if !has[e.key] {
			has[e.key] = true
			own = append(own, e)
		}
	}
	return own, true
}

// merged returns the entries of a merge, which names one mapping or several.
func (d *decoder) merged(path string, n ast.Node) []entry {
	if d.values++; d.values > maxValues {
		return nil // decode reports this
	}
	if n = d.follow(path, n); n == nil {
		return nil
	}
	if sequence, ok := n.(*ast.SequenceNode); ok {
		var all []entry
		for _, element := range sequence.Values {
			all = append(all, d.merged(path, element)...)
		}
		return all
	}
	all, _ := d.entries(path, n)
	d.values += len(all)
	return all
}

func keyText(key ast.MapKeyNode) (string, bool) {
	switch k := key.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return k.GetToken().Value, true
	}
	return "", false
}

// follow returns the value behind anchors and aliases, or nil after it has reported a problem.
func (d *decoder) follow(path string, n ast.Node) ast.Node {
	for {
		switch node := n.(type) {
		case *ast.AnchorNode:
			n = node.Value
		case *ast.AliasNode:
			switch n = d.aliases[node]; n {
			case nil:
				d.wrong(path, node, "unknown anchor: *%s", aliasName(node))
				return nil
			case node:
				d.wrong(path, node, "refers to itself: *%s", aliasName(node))
				return nil
			}
		case *ast.TagNode:
			d.wrong(path, node, "must have no tag, got %s", node.Start.Value)
			return nil
		default:
			return n
		}
	}
}

func aliasName(alias *ast.AliasNode) string { return alias.Value.GetToken().Value }

// resolveAliases returns the node of each alias: the last anchor of its name before it, or the alias itself if it is in that anchor.
func resolveAliases(root ast.Node) map[*ast.AliasNode]ast.Node {
	r := &resolver{anchors: map[string]ast.Node{}, aliases: map[*ast.AliasNode]ast.Node{}}
	ast.Walk(r, root)
	return r.aliases
}

type resolver struct {
	anchors map[string]ast.Node // the values; of an anchor that has not ended, the anchor
	aliases map[*ast.AliasNode]ast.Node
}

func (r *resolver) Visit(n ast.Node) ast.Visitor {
	switch node := n.(type) {
	case *ast.AnchorNode:
		name := node.Name.GetToken().Value
		r.anchors[name] = node
		ast.Walk(r, node.Value)
		if r.anchors[name] == node {
			r.anchors[name] = node.Value
		}
		return nil
	case *ast.AliasNode:
		target := r.anchors[aliasName(node)]
		if _, open := target.(*ast.AnchorNode); open {
			target = node
		}
		r.aliases[node] = target
	}
	return r
}

// first returns the first token of a list element.
func first(n ast.Node) *token.Token {
	if mapping, ok := n.(*ast.MappingNode); ok && !mapping.IsFlowStyle && len(mapping.Values) > 0 {
		return mapping.Values[0].Key.GetToken()
	}
	return n.GetToken()
}

// scalar fills in a value that is neither a section nor a list.
func (d *decoder) scalar(path string, n ast.Node, v reflect.Value) {
	if err := setScalar(v, n); err != nil {
		d.wrong(path, n, "%v, got %s", err, describe(n))
	}
}

// setScalar reads whole numbers and amounts from their text, without a float64.
func setScalar(v reflect.Value, n ast.Node) error {
	text, isText := textOf(n)
	number, isNumber := numberOf(n)
	switch {
	case v.Type() == durationType:
		duration, err := ParseDuration(text)
		v.SetInt(int64(duration))
		return err
	case v.Type() == microsType:
		amount, err := ParseMicros(text + number)
		v.SetInt(int64(amount))
		return err
	case v.Kind() == reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return errors.New("must be true or false")
		}
		v.SetBool(b.Value)
	case v.Kind() == reflect.String:
		if v.Type() == startsType {
			text, isText = text+number, isText || isNumber
		}
		if !isText {
			return errors.New("must be text")
		}
		v.SetString(text)
	case v.Kind() == reflect.Float64:
		f, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return errors.New("must be a number")
		}
		v.SetFloat(f)
	default:
		whole, err := strconv.ParseInt(number, 10, v.Type().Bits())
		if err != nil || number[0] == '+' {
			return errors.New("must be a whole number")
		}
		v.SetInt(whole)
	}
	return nil
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
	if text, ok := textOf(n); ok {
		return quote(text)
	}
	switch n.(type) {
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	}
	return strings.Trim(quote(n.GetToken().Value), `"`)
}
