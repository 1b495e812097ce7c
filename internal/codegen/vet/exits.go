package vet

import "github.com/yuin/gopher-lua/ast"

// An exit is a way out of a loop: the conditions around a break or a return, of which all must hold. Without one, every turn takes it.
type exit []ast.Expr

// exits returns the ways out of a loop's body. One in a loop inside has a nil condition, which stands for any.
func exits(stmts []ast.Stmt, inner bool) (out []exit) {
	for _, stmt := range stmts {
		switch stmt := stmt.(type) {
		case *ast.ReturnStmt:
			out = append(out, exit{})
		case *ast.BreakStmt:
			if !inner {
				out = append(out, exit{})
			}
		case *ast.DoBlockStmt:
			out = append(out, exits(stmt.Stmts, inner)...)
		case *ast.IfStmt:
			out = append(out, below(stmt.Condition, exits(stmt.Then, inner))...)
			out = append(out, below(stmt.Condition, exits(stmt.Else, inner))...)
		case *ast.WhileStmt:
			out = append(out, below(nil, exits(stmt.Stmts, true))...)
		case *ast.RepeatStmt:
			out = append(out, below(nil, exits(stmt.Stmts, true))...)
		case *ast.NumberForStmt:
			out = append(out, below(nil, exits(stmt.Stmts, true))...)
		case *ast.GenericForStmt:
			out = append(out, below(nil, exits(stmt.Stmts, true))...)
		}
	}
	return out
}

// below adds a condition to exits.
func below(condition ast.Expr, list []exit) []exit {
	for i := range list {
		list[i] = append(list[i], condition)
	}
	return list
}

// leaves reports whether a loop's body has a break or a return.
func leaves(stmts []ast.Stmt) bool { return len(exits(stmts, false)) > 0 }

// A turn is what the text of a loop says of its turns.
type turn struct {
	redis bool // they call Redis
	stuck bool
}

func (r *run) turnOf(l loop) turn {
	f := r.here()
	t, known := f.turns[l.stmt]
	if !known {
		t = turn{redis: effectsOf(f, l.body, l.condition).redis, stuck: f.stuck(l)}
		f.turns[l.stmt] = t
	}
	return t
}

// stuck reports whether a loop that its first turn does not end never ends: its turns change nothing of what its condition and the
// conditions around its exits read.
func (f *file) stuck(l loop) bool {
	body := effectsOf(f, l.body, l.condition)
	ways := exits(l.body, false)
	if !always(l.condition, l.atEnd) {
		ways = append(ways, exit{l.condition})
	}
	for _, way := range ways {
		if len(way) == 0 {
			return false
		}
		for _, condition := range way {
			if condition == nil || body.change(effectsOf(f, nil, condition)) {
				return false
			}
		}
	}
	return true
}
