package vet

import (
	"embed"
	"strings"
)

// The rules' IDs.
const (
	RuleUndeclaredKey      = "undeclared-key"
	RuleKeyType            = "key-type"
	RuleUnknownCommand     = "unknown-command"
	RuleRefusedCommand     = "refused-command"
	RuleCommandForm        = "command-form"
	RuleDynamicCommand     = "dynamic-command"
	RuleCallArgument       = "call-argument"
	RuleNoWrites           = "no-writes"
	RuleMissingTTL         = "missing-ttl"
	RuleBadTTL             = "bad-ttl"
	RuleKeyLoop            = "key-loop"
	RuleClock              = "clock"
	RuleClockTwice         = "clock-twice"
	RuleLoadCall           = "load-call"
	RuleLoadLog            = "load-log"
	RuleLoadLibrary        = "load-library"
	RuleGlobalRead         = "global-read"
	RuleGlobalWrite        = "global-write"
	RuleSandbox            = "sandbox"
	RuleLibraryState       = "library-state"
	RuleRandom             = "random"
	RuleNumberText         = "number-text"
	RuleFormatText         = "format-text"
	RuleCallerNumber       = "caller-number"
	RuleMaybeNil           = "maybe-nil"
	RuleFalseReply         = "false-reply"
	RuleTruthyNumber       = "truthy-number"
	RuleResultCount        = "result-count"
	RuleMissingReturn      = "missing-return"
	RuleResultNil          = "result-nil"
	RuleResultType         = "result-type"
	RuleErrorCode          = "error-code"
	RuleErrorData          = "error-data"
	RuleEndlessLoop        = "endless-loop"
	RuleRecursion          = "recursion"
	RuleMixedComparison    = "mixed-comparison"
	RuleRaisedTable        = "raised-table"
	RuleRaisedData         = "raised-data"
	RuleSetresp            = "setresp"
	RuleMultipleAssignment = "multiple-assignment"
	RuleGoto               = "goto"
	RulePairs              = "pairs"
	RuleHole               = "hole"
	RuleUnpack             = "unpack"
	RulePortable           = "portable"
	RuleUnusedParameter    = "unused-parameter"
	RuleFileLength         = "file-length"
	RuleTooManyLocals      = "too-many-locals"
	RuleComplexity         = "complexity"
	RuleIgnore             = "ignore"
)

// A Rule is one kind of finding of vet. Its page in rules/ has a sentence, why it matters, and two function files.
type Rule struct {
	ID     string // in findings and in `-- rlfunc:ignore ID reason`
	Checks string // one sentence, "Checks that ..."
	Why    string
	Bad    string // has findings of this rule only
	Good   string // the same without
}

//go:embed rules/*.md
var pages embed.FS

// Rules lists every rule of this package, in the order of docs/vet.md.
var Rules = func() []Rule {
	var out []Rule
	for _, id := range []string{
		RuleUndeclaredKey, RuleKeyType, RuleUnknownCommand, RuleRefusedCommand, RuleCommandForm, RuleDynamicCommand, RuleCallArgument,
		RuleNoWrites, RuleMissingTTL, RuleBadTTL, RuleKeyLoop, RuleClock, RuleClockTwice, RuleLoadCall, RuleLoadLog,
		RuleLoadLibrary, RuleGlobalRead, RuleGlobalWrite, RuleSandbox, RuleLibraryState, RuleRandom, RuleSetresp, RuleMultipleAssignment, RuleGoto,
		RulePairs, RuleHole, RuleUnpack, RulePortable, RuleNumberText, RuleFormatText, RuleCallerNumber, RuleMaybeNil, RuleMixedComparison,
		RuleFalseReply, RuleTruthyNumber, RuleResultCount, RuleMissingReturn, RuleResultNil, RuleResultType, RuleErrorCode,
		RuleErrorData, RuleRaisedTable, RuleRaisedData, RuleEndlessLoop, RuleRecursion, RuleUnusedParameter, RuleFileLength,
		RuleTooManyLocals, RuleComplexity, RuleIgnore,
	} {
		out = append(out, readRule(id))
	}
	return out
}()

func readRule(id string) Rule {
	page, err := pages.ReadFile("rules/" + id + ".md")
	if err != nil {
		panic(err) // the build lacks it
	}
	text, examples, _ := strings.Cut(string(page), "\n\nBad:\n\n```lua\n")
	checks, why, _ := strings.Cut(text, "\n\n")
	bad, good, _ := strings.Cut(examples, "```\n\nGood:\n\n```lua\n")
	return Rule{ID: id, Checks: checks, Why: why, Bad: bad, Good: strings.TrimSuffix(good, "```\n")}
}

// ruleIDs returns the rules that a comment can silence: all but the one about such comments.
func ruleIDs() []string {
	out := make([]string, 0, len(Rules))
	for _, r := range Rules {
		if r.ID != RuleIgnore {
			out = append(out, r.ID)
		}
	}
	return out
}
