package goclient

import "github.com/rlfunc/rlfunc/codegen/spec"

// Name returns the exported Go name of a snake_case name: SlidingLog for sliding_log.
func Name(name string) string { return goName(name) }

// RowType returns the Go type of a group's row, whose owner is the function's Go name.
func RowType(owner string, g spec.Field) string { return rowName(owner, g) }

// EnumType returns the Go type of an enum, whose owner is the function's Go name, followed by the group's in a row. The constant of a
// value is the type's name followed by the value's.
func EnumType(owner string, f spec.Field) string { return resultType(owner, f) }

// ItemType returns the Go type of a list's item or of a map's value of a kind that has no type of its own package.
func ItemType(f spec.Field) string { return resultType("", f) }
