package embedded

import "github.com/rlfunc/rlfunc/embedded/internal/luahost"

// A Block is a body of a function, a loop or a branch.
type Block = luahost.Block

// An Observer is told what functions do while they run: contract tests and the strict steps of luatest are built on it. Its methods
// are called on the goroutine of the call, while the server is locked, so they must not use the server. Scripts of EVAL are not
// observed.
//
// A value of Lua is nil, a bool, a float64, a string, a map[any]any for a table, and a struct{} for anything else. Lines are those of
// the library's code.
type Observer interface {
	// Loaded gives the blocks of a library, by their numbers.
	Loaded(library string, blocks []Block)
	// Called begins a call, and returns how many instructions it may take: then it ends with an error. 0 means any number.
	Called(library, function string, keys, args []string) (most int)
	// Block says that a block of the library runs.
	Block(i int)
	// Operator reports operands that are legal and nearly always wrong. The problem is "division-by-zero" (by 0), "mixed-comparison" (of values of
	// different types, of numbers as texts, or with NaN) or "hole" (the length of a list that has one).
	Operator(line int, problem, text string, operands ...any)
	// Text reports a text made of a number that it no longer is; what says why. That is wrong only if the text is stored or returned.
	Text(line int, text, problem, what string)
	// Command begins a command. Numbers among its arguments are float64, as Lua has passed them. Sizes are the numbers of elements of
	// its keys: of a text its bytes, of a list those that the command passes. Protected means redis.pcall.
	Command(line int, args []any, keys []string, sizes []int, write, protected bool)
	// Replied ends a command, with the number of elements of its reply, or its error.
	Replied(elements int, failure string)
	// Returned gives what an annotated function has returned: true and its results, or false and what it raised.
	Returned(values []any)
	// Ended ends a call, with the number of instructions that it took.
	Ended(steps int)
}
