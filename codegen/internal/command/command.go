// Package command finds the Redis commands that Lua names, which is what an ACL must allow.
package command

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

// Arguments returns what a call gives to Redis, the command's name first: that of redis.call, redis.pcall, and pcall(redis.call, ...).
func Arguments(e *ast.FuncCallExpr) (args []ast.Expr, ok bool) {
	id, plain := e.Func.(*ast.IdentExpr)
	if plain && id.Value == "pcall" && len(e.Args) > 0 && isCall(e.Args[0]) {
		return e.Args[1:], true
	}
	return e.Args, isCall(e.Func)
}

func isCall(e ast.Expr) bool {
	attr, ok := e.(*ast.AttrGetExpr)
	if !ok {
		return false
	}
	object, ok := attr.Object.(*ast.IdentExpr)
	key, named := attr.Key.(*ast.StringExpr)
	return ok && named && object.Value == "redis" && (key.Value == "call" || key.Value == "pcall")
}

// Literals returns the texts that an expression may be, upper case: one, or those of `a and 'X' or 'Y'`; nil if it may be another.
func Literals(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.StringExpr:
		return []string{strings.ToUpper(e.Value)}
	case *ast.LogicalOpExpr:
		if e.Operator == "and" {
			return Literals(e.Rhs)
		}
		a, b := Literals(e.Lhs), Literals(e.Rhs)
		if a != nil && b != nil {
			return slices.Concat(a, b)
		}
	}
	return nil
}

// Of returns what an ACL names for the commands of each function of a library: the literal ones of what it mentions, in its file and in the
// lib files that it uses, and TYPE, which the generated entry runs; sorted. That includes code that no call reaches, because an ACL without
// one of its commands would break a call.
func Of(lib *source.Library) (all [][]string) {
	libs := map[string]*file{}
	for _, l := range lib.Libs {
		libs[l.Name] = read(l.File, l.Uses)
	}
	for i, src := range lib.Files {
		fn := &lib.Spec.Functions[i]
		found := map[string]bool{"TYPE": true}
		r := &reacher{libs: libs, found: found, seen: map[*part]bool{}}
		r.reach(read(src, fn.Uses), fn.Name)
		for _, p := range fn.Params {
			if p.Prepare {
				r.reach(libs[p.Rows], p.Rows+".prepare")
			}
		}
		all = append(all, slices.Sorted(maps.Keys(found)))
	}
	return all
}

// A file is its top statements, by the names that they define: `f` or `lib.f`, or "" for those that define none.
type file struct {
	uses  []string
	parts map[string][]*part
}

type part struct {
	commands, mentions map[string]bool
}

func read(src *luasrc.File, uses []string) *file {
	f := &file{uses: uses, parts: map[string][]*part{}}
	for _, stmt := range src.Chunk {
		name := ""
		switch s := stmt.(type) {
		case *ast.LocalAssignStmt:
			name = s.Names[0]
		case *ast.FuncDefStmt:
			name = path(s.Name.Func)
		case *ast.AssignStmt:
			name, _, _ = strings.Cut(path(s.Lhs[0]), ".")
		}
		p := &part{map[string]bool{}, map[string]bool{}}
		p.add(reflect.ValueOf(stmt))
		f.parts[name] = append(f.parts[name], p)
	}
	return f
}

// path is a name, or the name of a field of a name.
func path(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return e.Value
	case *ast.AttrGetExpr:
		object, _ := e.Object.(*ast.IdentExpr)
		key, _ := e.Key.(*ast.StringExpr)
		if object != nil && key != nil {
			return object.Value + "." + key.Value
		}
	}
	return ""
}

// add reads a node and what stands below it.
func (p *part) add(v reflect.Value) {
	switch e := v.Interface().(type) {
	case *ast.FuncCallExpr:
		if args, ok := Arguments(e); ok && len(args) > 0 {
			for _, name := range Literals(args[0]) {
				p.commands[permission(name, args[1:])] = true
			}
		}
	case ast.Expr:
		if name := path(e); name != "" {
			p.mentions[name] = true
			return
		}
	}
	luasrc.Each(v.Elem(), p.add)
}

// A reacher follows what parts mention.
type reacher struct {
	libs  map[string]*file
	found map[string]bool
	seen  map[*part]bool
}

func (r *reacher) reach(f *file, name string) {
	if f == nil {
		return
	}
	for _, p := range f.parts[name] {
		if r.seen[p] {
			continue
		}
		r.seen[p] = true
		maps.Copy(r.found, p.commands)
		for mention := range p.mentions {
			r.reach(f, mention)
			used, _, member := strings.Cut(mention, ".")
			switch lib := r.libs[used]; {
			case lib == nil || !slices.Contains(f.uses, used):
			case member:
				r.reach(lib, mention)
			default: // a value: any member may be called
				for name := range lib.parts {
					r.reach(lib, name)
				}
			}
		}
	}
}

// permission is what an ACL names for a command: with its subcommand, XGROUP|CREATE, and with the channel to which it always publishes.
func permission(name string, args []ast.Expr) string {
	if len(args) == 0 {
		return name
	}
	second, ok := args[0].(*ast.StringExpr)
	switch {
	case !ok:
	case name == "PUBLISH":
		return name + "|" + second.Value
	case name == "OBJECT" || name == "XGROUP" || name == "XINFO":
		return name + "|" + strings.ToUpper(second.Value)
	}
	return name
}
