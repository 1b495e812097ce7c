package vet

import "fmt"

var shapeRules = []Rule{
	{
		ID:     RuleUnusedParameter,
		Checks: "Checks that every parameter is used, except parameters of helpers whose name begins with _, and arguments that name a key or say whether a call has it.",
		Why:    "Callers must send an argument that has no effect.",
		Bad:    hit("return redis.call('STRLEN', counter)"),
		Good:   hit("return redis.call('STRLEN', counter) + window_us"),
	},
	{
		ID:     RuleFileLength,
		Checks: fmt.Sprintf("Checks that a function file has at most %d lines with its header; lib files may be longer.", lineLimit),
		Why:    "One verb, one file: a longer file is hard to read during an incident.",
		Bad:    look(append(repeat(lineLimit, "-- a long story"), "return redis.call('EXISTS', counter)")...),
		Good:   look("return redis.call('EXISTS', counter)"),
	},
	{
		ID:     RuleTooManyLocals,
		Checks: fmt.Sprintf("Checks that a function has at most 200 locals, %d upvalues and %d registers, and a function file at most 150 locals at its top.", upvalueLimit, registerLimit),
		Why:    "Lua 5.1 refuses to load more; gopher-lua does not enforce all of it. A for has three locals without a name, and each lib file is an upvalue.",
		Bad:    look(append(locals(201), "return redis.call('EXISTS', counter) + a1")...),
		Good:   look("local parts = {1, 2, 3}", "return redis.call('EXISTS', counter) + #parts"),
	},
	{
		ID:     RuleComplexity,
		Checks: fmt.Sprintf("Checks that blocks nest at most %d deep, and that a function's paths can all be followed.", nestingLimit),
		Why:    "Vet cannot check paths that it cannot follow.",
		Bad: look(
			"local n = redis.call('EXISTS', counter)",
			"do do do do do do do do do n = n + 1 end end end end end end end end end",
			"return n",
		),
		Good: look("return redis.call('EXISTS', counter) + 1"),
	},
	{
		ID:     RuleIgnore,
		Checks: "Checks that every `-- rlfunc:ignore RULE reason` has a rule and a reason, and silences a finding.",
		Why:    "A comment without a finding would hide a later one on its line.",
		Bad:    look("return redis.call('EXISTS', counter) -- rlfunc:ignore key-loop it is small"),
		Good: example([]string{
			"--- Counts names.",
			"--- @key    names set[names] the subject's names",
			"--- @result count count      how many",
			"local function names_left(names)",
		}, []string{"return #redis.call('SMEMBERS', names) -- rlfunc:ignore key-loop three names at most, by construction"}),
	},
}

func repeat(n int, line string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = line
	}
	return out
}

func locals(n int) []string {
	out := make([]string, 0, n/10+1)
	for i := 1; i <= n; i += 10 {
		names, values := fmt.Sprintf("a%d", i), "1"
		for j := i + 1; j < min(i+10, n+1); j++ {
			names += fmt.Sprintf(", a%d", j)
			values += ", 1"
		}
		out = append(out, "local "+names+" = "+values)
	}
	return out
}
