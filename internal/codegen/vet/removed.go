package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// A removal is that of a key, or of its elements, which the function names itself, and not because of what the key held: it may be live.
type removal struct {
	key string
	at  site
}

// removing are the commands that remove what the function names.
var removing = set("DEL UNLINK HDEL SREM ZREM")

// removes notes a removal that a refusal must not follow. To remove what has expired, code compares a time or what a key holds, gives a range of
// scores, or names elements from a reply. A key that this call has written may be removed as well.
func (r *run) removes(s *state, e *ast.FuncCallExpr, cmd *command, args []value, keys []int) {
	if !removing[cmd.name] || s.aged || s.removed != nil || len(keys) == 0 || r.isOpenList(s, e) {
		return
	}
	for i, v := range args {
		if v.lenient || len(v.reply) > 0 || v.taint&fromStore != 0 {
			return
		}
		if !slices.Contains(keys, i) {
			continue
		}
		for _, key := range v.keys() {
			if t := s.ttl.at(key); t.settled || len(t.pending) > 0 {
				return
			}
		}
	}
	if names := args[keys[0]].keys(); len(names) == 1 {
		s.removed = &removal{names[0], r.outer(e)}
	}
}

// age notes a comparison that may find that something has expired.
func (r *run) age(s *state, e *ast.RelationalOpExpr, a, b value) {
	literal := isWritten(e.Lhs) || isWritten(e.Rhs)
	held := len(a.reply) > 0 || len(b.reply) > 0
	switch ordered := e.Operator != "==" && e.Operator != "~="; {
	case a.unit.isTime(), b.unit.isTime(), a.left != 0, b.left != 0:
		s.aged = true
	case ordered && literal:
		s.aged = s.aged || held && r.here().lib == "" || a.unit != 0 || b.unit != 0
	case ordered || !literal:
		s.aged = s.aged || held
	}
}

// isWritten reports whether an expression is a literal of any type.
func isWritten(e ast.Expr) bool {
	switch e.(type) {
	case *ast.NumberExpr, *ast.StringExpr, *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr:
		return true
	}
	return false
}

// tellsOf notes a test that says whether there was something to remove: which outcome says so is unknown.
func (r *run) tellsOf(s *state, e ast.Expr) {
	switch e := e.(type) {
	case *ast.UnaryNotOpExpr:
		r.tellsOf(s, e.Expr)
	case *ast.LogicalOpExpr:
		r.tellsOf(s, e.Lhs)
		r.tellsOf(s, e.Rhs)
	case *ast.RelationalOpExpr:
		switch {
		case isWritten(e.Rhs):
			r.tellsOf(s, e.Lhs)
		case isWritten(e.Lhs):
			r.tellsOf(s, e.Rhs)
		}
	case *ast.IdentExpr, *ast.AttrGetExpr:
		if v, ok := r.peek(s, e); ok && s.removed != nil && slices.Contains(v.reply, s.removed.key) {
			s.removed = nil
		}
	}
}

// unsaid returns the place of what a path has changed before a refusal, or nil.
func (w writes) unsaid() *site {
	switch {
	case w.first != nil:
		return w.first
	case w.removed != nil:
		return &w.removed.at
	}
	return nil
}
