package vet

import (
	"slices"
	"strings"
)

// A Rule is one kind of finding of vet.
type Rule struct {
	ID     string // in findings and in `-- rlfunc:ignore ID reason`
	Checks string // one sentence, "Checks that ..."
	Why    string // the consequence, and the servers on which it was measured
	Bad    string // a function file with findings of this rule only
	Good   string // the corrected function file
}

// The rules' IDs.
const (
	RuleUndeclaredKey      = "undeclared-key"
	RuleKeyType            = "key-type"
	RuleUnknownCommand     = "unknown-command"
	RuleRefusedCommand     = "refused-command"
	RuleCommandForm        = "command-form"
	RuleDynamicCommand     = "dynamic-command"
	RuleCallArgument       = "call-argument"
	RuleCallFraction       = "call-fraction"
	RuleNoWrites           = "no-writes"
	RuleMissingTTL         = "missing-ttl"
	RuleBadTTL             = "bad-ttl"
	RuleSharedTTL          = "shared-ttl"
	RuleKeyLoop            = "key-loop"
	RuleStreamGroup        = "stream-group"
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
	RuleResultFraction     = "result-fraction"
	RuleErrorCode          = "error-code"
	RuleErrorData          = "error-data"
	RuleRefusalWrites      = "refusal-writes"
	RuleDivisionByZero     = "division-by-zero"
	RuleNegativeZero       = "negative-zero"
	RuleNumberRange        = "number-range"
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

// Rules lists every rule of this package, in the order of docs/vet.md.
var Rules = slices.Concat(keyRules, streamRules, loadRules, valueRules, numberRules, shapeRules)

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

// hit returns an example with the given body: a function of one key and one count.
func hit(body ...string) string {
	return example([]string{
		"--- Counts calls.",
		"--- @key    counter string[count] the subject's counter",
		"--- @arg    window  duration[1ms..30d] how long it counts",
		"--- @result count   count         calls in this window",
		"local function hit(counter, window_us)",
	}, body)
}

// hitWith returns an example like hit, below a helper.
func hitWith(helper []string, body ...string) string {
	return strings.Join(helper, "\n") + "\n\n" + hit(body...)
}

// seat returns an example with a key that has entries of several clients.
func seat(body ...string) string {
	return example([]string{
		"--- Takes a seat.",
		"--- @key    seats  zset[seats]        the holders",
		"--- @arg    holder text[64]           the new holder",
		"--- @arg    hold   duration[1ms..30d] how long it is held",
		"--- @result taken  count              seats that are taken",
		"local function seat(seats, holder, hold_us)",
	}, body)
}

// look returns a read-only example.
func look(body ...string) string {
	return example([]string{
		"--- Returns the count.",
		"--- @flags  no-writes",
		"--- @key    counter string[count] the subject's counter",
		"--- @result count   count         calls in this window",
		"local function look(counter)",
	}, body)
}

// name returns an example that reads a text.
func name(body ...string) string {
	return example([]string{
		"--- Returns the name.",
		"--- @key    profile hash[profile] the subject's profile",
		"--- @arg    field   text[64]      which name",
		"--- @result name    text[0..256]  the name, or an empty text",
		"--- @error  NOFIELD               there is no such field",
		"local function name(profile, field)",
	}, body)
}

func example(header, body []string) string {
	return strings.Join(header, "\n") + "\n  " + strings.Join(body, "\n  ") + "\nend\n"
}
