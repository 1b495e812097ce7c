package annotation

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

var kinds = []string{"count", "int", "float", "micros", "duration", "time", "bool", "text", "enum", "group"}

var redisTypes = []string{"string", "list", "hash", "set", "zset", "stream"}

// foreign maps type names from other languages to the types here.
var foreign = map[string]string{
	"integer": "count or int", "signed": "int", "number": "count, int, float, micros, duration or time", "num": "count", "long": "count or int",
	"double": "float", "real": "float", "score": "float", "money": "micros", "decimal": "float or micros",
	"string": "text", "str": "text", "bytes": "text", "binary": "text", "blob": "text", "json": "text", "object": "text", "boolean": "bool", "flag": "bool",
	"seconds": "duration", "ms": "duration", "us": "duration", "millis": "duration", "timestamp": "time", "table": "group", "array": "group", "list": "group", "packed": "group",
	"map": pairs, "dict": pairs, "hash": pairs,
}

const pairs = "a group with a name and a value"

// A typeError is an error in a type, with its offset in the text and its rule.
type typeError struct {
	offset  int
	rule    string
	message string
}

func badType(offset int, rule, format string, args ...any) *typeError {
	return &typeError{offset, rule, fmt.Sprintf(format, args...)}
}

// looksLikeType tells a type from the first word of a text: a known word, a near-miss, or brackets.
func looksLikeType(w string) bool {
	base := w
	if i := strings.IndexAny(w, "[(?="); i >= 0 {
		return true
	}
	_, alien := foreign[base]
	return slices.Contains(kinds, base) || alien || (len(base) > 3 && spelling.Nearest(base, kinds) != "")
}

// readType reads `kind[bounds]?=default` or `enum(a,b)?=default` into a field. A result needs no bounds.
func readType(text string, result bool, f *spec.Field) *typeError {
	end := strings.IndexAny(text, "[(?=")
	if end < 0 {
		end = len(text)
	}
	base := text[:end]
	if !slices.Contains(kinds, base) {
		if meant, ok := foreign[base]; ok {
			return badType(0, RuleUnknownType, "unknown type %q: write %s", base, meant)
		}
		return badType(0, RuleUnknownType, "unknown type %q%s (types: %s)", base, spelling.DidYouMean(base, kinds), strings.Join(kinds, ", "))
	}
	f.Kind = spec.Kind(base)
	at := end
	var err *typeError
	if f.Kind == spec.KindGroup {
		if at, err = readRowsOf(text, at, f); err != nil {
			return err
		}
	}
	if at, err = readBracket(text, at, result, f); err != nil {
		return err
	}
	if at < len(text) && text[at] == '?' {
		f.Optional = true
		at++
	}
	if at < len(text) && text[at] == '=' {
		if err := readDefault(text[at+1:], at+1, f); err != nil {
			return err
		}
		at = len(text)
	}
	if at != len(text) {
		return badType(at, RuleUnknownType, "unexpected %q in type %s", text[at:], text)
	}
	return nil
}

// readBracket reads the brackets after the kind and sets the bounds, or the default bounds.
func readBracket(text string, at int, result bool, f *spec.Field) (int, *typeError) {
	switch f.Kind {
	case spec.KindCount, spec.KindMicros, spec.KindTime:
		f.Max = spec.MaxInt
	case spec.KindInt:
		f.Min, f.Max = -spec.MaxSigned, spec.MaxSigned
	case spec.KindFloat:
		f.Min, f.Max = spec.NoMin, spec.NoMax
	case spec.KindDuration:
		f.Max = spec.MaxDuration
	case spec.KindEnum:
		return readEnum(text, at, f)
	}
	if at >= len(text) || text[at] != '[' {
		if !result && sized(f.Kind) {
			example := "1..16"
			if f.Kind == spec.KindText {
				example = "256"
			}
			return at, badType(0, RuleBounds, "%s needs a bound: %s[%s]", f.Kind, text[:at], example)
		}
		if at < len(text) && text[at] == '(' {
			return at, badType(at, RuleBounds, "bounds stand in square brackets: %s[1..100]", f.Kind)
		}
		return at, nil
	}
	end := strings.IndexByte(text[at:], ']')
	if end < 0 {
		return at, badType(at, RuleBounds, "the bracket is not closed")
	}
	inner := text[at+1 : at+end]
	if f.Kind == spec.KindBool {
		return at, badType(at, RuleBounds, "bool has no bounds")
	}
	low, high, both := strings.Cut(inner, "..")
	if !both {
		if f.Kind != spec.KindText {
			return at, badType(at+1, RuleBounds, "bounds are written low..high, got %q", inner)
		}
		low, high = "1", inner // text[256]: 1 to 256 bytes
	}
	if low != "" {
		n, message := readBound(low, f.Kind)
		if message != "" {
			return at, badType(at+1, RuleBounds, "%s", message)
		}
		f.Min = n
	}
	if high != "" {
		n, message := readBound(high, f.Kind)
		if message != "" {
			return at, badType(at+end-len(high), RuleBounds, "%s", message)
		}
		if f.Kind.Integer() && n > f.Max {
			return at, badType(at+end-len(high), RuleBounds, "%s is above %d, the greatest %s that stays exact", high, f.Max, f.Kind)
		}
		f.Max = n
	} else if sized(f.Kind) {
		return at, badType(at+1, RuleBounds, "%s needs an upper bound", f.Kind)
	}
	if f.Min > f.Max {
		return at, badType(at+1, RuleBounds, "the lower bound %s is above the upper bound %s", low, high)
	}
	if f.Kind == spec.KindGroup && f.Max < 1 {
		return at, badType(at+1, RuleBounds, "a group that may hold no row is none: its upper bound is 0")
	}
	return at + end + 1, nil
}

// sized reports whether the bounds of a kind are those of a size, which must have an upper one.
func sized(k spec.Kind) bool { return k == spec.KindText || k == spec.KindGroup }

// readRowsOf reads the lib file in parentheses that declares a group's rows, if one is named.
func readRowsOf(text string, at int, f *spec.Field) (int, *typeError) {
	if at >= len(text) || text[at] != '(' {
		return at, nil
	}
	end := strings.IndexByte(text[at:], ')')
	if end < 0 {
		return at, badType(at, RuleGroup, "the parenthesis is not closed")
	}
	f.Rows = text[at+1 : at+end]
	switch {
	case strings.Contains(f.Rows, ".."):
		return at, badType(at, RuleBounds, "bounds stand in square brackets: %s[1..16]", f.Kind)
	case !nameForm.MatchString(f.Rows):
		return at, badType(at+1, RuleGroup, "%q is not the name of a lib file that declares rows", f.Rows)
	}
	return at + end + 1, nil
}

func readEnum(text string, at int, f *spec.Field) (int, *typeError) {
	if at >= len(text) || text[at] != '(' {
		return at, badType(0, RuleBounds, "enum needs its values: enum(first,second)")
	}
	end := strings.IndexByte(text[at:], ')')
	if end < 0 {
		return at, badType(at, RuleBounds, "the parenthesis is not closed (values are separated by commas, without blanks)")
	}
	for _, v := range strings.Split(text[at+1:at+end], ",") {
		if !nameForm.MatchString(v) {
			return at, badType(at+1, RuleName, "enum value %q is not a word in snake_case", v)
		}
		if slices.Contains(f.Values, v) {
			return at, badType(at+1, RuleDuplicate, "enum value %s is repeated", v)
		}
		f.Values = append(f.Values, v)
	}
	return at + end + 1, nil
}

func readDefault(text string, offset int, f *spec.Field) *typeError {
	f.Optional = true
	switch {
	case f.Kind == spec.KindText:
		return readDefaultText(text, offset, f)
	case f.Kind == spec.KindFloat:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !decimalForm.MatchString(text) {
			return badType(offset, RuleOptional, "default: %q is not a decimal number such as 0.5", text)
		}
		if least, most := f.Span(); n < least || n > most {
			return badType(offset, RuleOptional, "the default %s is outside the bounds", text)
		}
		f.DefaultOf = strconv.FormatFloat(n+0, 'f', -1, 64)
	case f.Kind == spec.KindBool:
		if text != "true" && text != "false" {
			return badType(offset, RuleOptional, "the default of a bool is true or false, got %q", text)
		}
		n := int64(0)
		if text == "true" {
			n = 1
		}
		f.Default = &n
	case f.Kind.Integer():
		n, message := readBound(text, f.Kind)
		if message != "" {
			return badType(offset, RuleOptional, "default: %s", message)
		}
		if n < f.Min || n > f.Max {
			return badType(offset, RuleOptional, "the default %s is outside the bounds", text)
		}
		f.Default = &n
	case f.Kind == spec.KindEnum:
		i := slices.Index(f.Values, text)
		if i < 0 {
			return badType(offset, RuleOptional, "the default %q is none of the values", text)
		}
		n := int64(i)
		f.Default = &n
	default:
		return badType(offset, RuleOptional, "%s takes no default", f.Kind)
	}
	return nil
}

var (
	decimalForm = regexp.MustCompile(`^(-?[1-9]\d*(\.\d+)?|0|-?0\.\d*[1-9]\d*)$`)
	quotedForm  = regexp.MustCompile(`^"([ !#-\[\]-~]*)"$`)
)

// readDefaultText reads `"eu west"`.
func readDefaultText(text string, offset int, f *spec.Field) *typeError {
	m := quotedForm.FindStringSubmatch(text)
	if m == nil {
		return badType(offset, RuleOptional, `the default of a text is written in double quotes, of printable ASCII without " and \: =%q`, strings.Trim(text, `"'`))
	}
	if n := int64(len(m[1])); n < max(f.Min, 1) || n > f.Max {
		return badType(offset, RuleOptional, "the default has %d bytes, and the bounds are %d to %d", n, max(f.Min, 1), f.Max)
	}
	f.DefaultOf = m[1]
	return nil
}

var durationUnits = map[string]int64{
	"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6, "d": 86400e6,
}

// readBound reads a bound, which may be below 0 for signed kinds.
func readBound(text string, k spec.Kind) (int64, string) {
	digits, negative := strings.CutPrefix(text, "-")
	n, message := readNumber(digits, k)
	switch {
	case message != "" || !k.Signed() && !negative:
		return n, message
	case !k.Signed():
		return 0, fmt.Sprintf("%s is never below 0: use int for a whole number with a sign, float for one with a fraction", k)
	case n > spec.MaxSigned:
		return 0, fmt.Sprintf("%s is beyond 2^53 - 1, the greatest %s", text, k)
	case negative && n == 0:
		return 0, "-0 is written 0"
	case negative:
		return -n, ""
	}
	return n, ""
}

// readNumber reads a number that is not below 0; a duration's carries its unit, and comes back in microseconds.
func readNumber(text string, k spec.Kind) (int64, string) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	unit := text[len(digits):]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Sprintf("%q is not a whole number", text)
	}
	if k != spec.KindDuration {
		if unit != "" {
			return 0, fmt.Sprintf("%s takes no unit, got %q", k, text)
		}
		if n > spec.MaxInt {
			return 0, fmt.Sprintf("%s is above 2^53, the greatest exact integer", text)
		}
		return n, ""
	}
	scale, ok := durationUnits[unit]
	if !ok && (unit != "" || n != 0) {
		return 0, fmt.Sprintf("a duration's bound carries its unit (us, ms, s, m, h, d), got %q", text)
	}
	if n != 0 && n > math.MaxInt64/scale {
		return 0, fmt.Sprintf("%s is too long", text)
	}
	return n * max(scale, 1), ""
}

// readKeyType reads `list[log]`, `string[account:<payer>]`, `zset[receipts]?receipt`, `hash[charges]?budgets.of`,
// `string[block][0..16]` or, in a group, `list[log:<name>]`.
func readKeyType(text string, inGroup bool, f *spec.Field) *typeError {
	text, with, conditional := strings.Cut(text, "?")
	if conditional {
		if inGroup {
			return badType(len(text), RuleKeys, "a row's key is there with the row")
		}
		f.With, f.Own = strings.CutSuffix(with, "."+subjectOf)
		f.Optional = true
	}
	if one, bounds, several := strings.Cut(text, "]["); several {
		if inGroup || conditional {
			return badType(len(one)+1, RuleKeys, "only a key outside groups that goes with no argument may be several")
		}
		text = one + "]"
		if bad := readSeveral(strings.TrimSuffix(bounds, "]"), len(one)+2, f); bad != nil {
			return bad
		}
	}
	base, inner, ok := strings.Cut(text, "[")
	if !ok || !strings.HasSuffix(inner, "]") {
		return badType(0, RuleKeys, "a key names its Redis type and its suffix: string[state], list[log], ...")
	}
	if base == "any" && inGroup {
		return readAnyKey(inner, f)
	}
	if base != "any" && !slices.Contains(redisTypes, base) {
		return badType(0, RuleKeys, "unknown Redis type %q%s (types: %s)", base, spelling.DidYouMean(base, redisTypes), strings.Join(redisTypes, ", "))
	}
	f.Kind, f.Redis = spec.KindKey, base
	suffix, of, dynamic := strings.Cut(strings.TrimSuffix(inner, "]"), ":")
	if !suffixForm.MatchString(suffix) {
		return badType(len(base)+1, RuleKeys, "the suffix %q is not a word in snake_case", suffix)
	}
	f.Suffix = suffix
	if dynamic {
		by, last, ok := readParts(of)
		if !ok {
			return badType(len(base)+1, RuleKeys, "what ends a suffix is written in angle brackets: %s:<name>", suffix)
		}
		if f.Several {
			return badType(len(base)+1, RuleKeys, "a key that a call has several of ends in a word: %s[%s]", base, suffix)
		}
		f.SuffixBy, f.SuffixOf = by, last
	} else if inGroup {
		return badType(len(base)+1, RuleKeys, "a group's key ends in a text field of its row, or all rows would share one key: %s[%s:<name>]", base, suffix)
	}
	return nil
}

// mostKeys is the most keys of one kind that a call may have.
const mostKeys = 64

// readSeveral reads how many keys a call has: `0..16`.
func readSeveral(bounds string, offset int, f *spec.Field) *typeError {
	low, high, ok := strings.Cut(bounds, "..")
	least, badLow := readNumber(low, spec.KindCount)
	most, badHigh := readNumber(high, spec.KindCount)
	if !ok || badLow != "" || badHigh != "" || least != 0 || most < 1 || most > mostKeys {
		return badType(offset, RuleKeys, "several keys are 0 to some, at most %d: string[block][0..16]", mostKeys)
	}
	f.Several, f.Min, f.Max = true, least, most
	return nil
}

// readAnyKey reads `any[<kind>:<name>]` or `any[<kind>:<window>:<name>]`: a row's key whose Redis type and suffix go by the row's enum kind.
func readAnyKey(inner string, f *spec.Field) *typeError {
	by, name, ok := readParts(strings.TrimSuffix(inner, "]"))
	if !ok || len(by) == 0 {
		return badType(len("any["), RuleKeys, "a key of any type is named after its row's enum and text: any[<kind>:<name>]")
	}
	f.Kind, f.Redis = spec.KindKey, "any"
	f.SuffixKind, f.SuffixBy, f.SuffixOf = by[0], by[1:], name
	return nil
}

// readParts reads the names of what a suffix goes on with, `<window>:<name>`: all but the last, and the last.
func readParts(text string) (by []string, last string, ok bool) {
	for part := range strings.SplitSeq(text, ":") {
		if len(part) < 3 || part[0] != '<' || part[len(part)-1] != '>' {
			return nil, "", false
		}
		by = append(by, part[1:len(part)-1])
	}
	return by[:len(by)-1], by[len(by)-1], true
}
