package policy

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

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
	n, done := d.follow(path, n)
	if n == nil {
		return nil
	}
	defer done()
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

// follow resolves anchors and aliases to their value. It returns nil after it has reported a problem. The caller calls done when it
// has decoded the value: until then, an alias of the same anchor is a cycle.
func (d *decoder) follow(path string, n ast.Node) (target ast.Node, done func()) {
	var opened []ast.Node
	for {
		switch node := n.(type) {
		case *ast.AnchorNode:
			n = node.Value
		case *ast.AliasNode:
			n = d.aliases[node]
			if n == nil || d.open[n] {
				d.wrong(path, node, "%s", aliasProblem(n, node))
				d.close(opened)
				return nil, nil
			}
			d.open[n] = true
			opened = append(opened, n)
		case *ast.TagNode:
			d.wrong(path, node, "must have no tag, got %s", node.Start.Value)
			d.close(opened)
			return nil, nil
		case nil:
			d.close(opened)
			return nil, nil
		default:
			return n, func() { d.close(opened) }
		}
	}
}

func (d *decoder) close(opened []ast.Node) {
	for _, n := range opened {
		delete(d.open, n)
	}
}

func aliasProblem(target ast.Node, alias *ast.AliasNode) string {
	if target == nil {
		return "unknown anchor: *" + aliasName(alias)
	}
	return "refers to itself: *" + aliasName(alias)
}

func aliasName(alias *ast.AliasNode) string { return alias.Value.GetToken().Value }

// resolveAliases returns the node of each alias: the last anchor of its name before it.
func resolveAliases(root ast.Node) map[*ast.AliasNode]ast.Node {
	r := &resolver{anchors: map[string]ast.Node{}, aliases: map[*ast.AliasNode]ast.Node{}}
	ast.Walk(r, root)
	return r.aliases
}

type resolver struct {
	anchors map[string]ast.Node
	aliases map[*ast.AliasNode]ast.Node
}

func (r *resolver) Visit(n ast.Node) ast.Visitor {
	switch node := n.(type) {
	case *ast.AnchorNode:
		r.anchors[node.Name.GetToken().Value] = node.Value
	case *ast.AliasNode:
		r.aliases[node] = r.anchors[aliasName(node)]
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
