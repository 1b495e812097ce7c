package annotation

import (
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// readList reads `list[0..16] of text[64]`. Results need bounds, too.
func readList(text string, result bool, f *spec.Field) *typeError {
	item, err := readSize(text, "text[64]", f)
	if err != nil {
		return err
	}
	one, err := readItem(text, len(text)-len(item), item, result, f)
	one.Name = f.Name
	f.Fields = []spec.Field{one}
	return err
}

// readMap reads `map[0..16] of text[64] to count[0..9]`. Results need bounds, too.
func readMap(text string, result bool, f *spec.Field) *typeError {
	pair, err := readSize(text, "text[64] to count", f)
	if err != nil {
		return err
	}
	offset := len(text) - len(pair)
	keyType, rest, _, _ := typeWord(pair, 0)
	to, value, _, _ := word(rest, 0)
	if to != "to" {
		return badType(offset, RuleMissingType, "%s does not say what its keys lead to: write map[0..16] of text[64] to count", f.Name)
	}
	key, err := readItem(text, offset, keyType, result, f)
	switch {
	case err != nil:
		return err
	case key.Kind != spec.KindText:
		return badType(offset, RuleUnknownType, "the keys of a map are text")
	}
	value = strings.TrimLeft(value, " \t")
	one, err := readItem(text, len(text)-len(value), value, result, f)
	key.Name, one.Name = "key", "value"
	f.Fields = []spec.Field{key, one}
	return err
}

// readSize reads the bounds of a list or a map, and returns what is behind the word of.
func readSize(text, example string, f *spec.Field) (item string, err *typeError) {
	size := text
	if end := strings.IndexAny(text, " \t"); end >= 0 {
		size, item = text[:end], strings.TrimLeft(text[end:], " \t")
	}
	at, err := readBracket(size, len(f.Kind), false, f)
	switch {
	case err != nil:
		return "", err
	case at < len(size) && size[at] == '?':
		return "", badType(at, RuleOptional, "a %s is optional when its lower bound is 0", f.Kind)
	case at < len(size):
		return "", badType(at, RuleUnknownType, "unexpected %q in type %s", size[at:], size)
	case item == "":
		return "", badType(0, RuleMissingType, "%s does not say what it holds: write %s of %s", f.Name, size, example)
	}
	return strings.TrimLeft(strings.TrimPrefix(item, "of"), " \t"), nil
}

// readItem reads the type of a list's item, or of a map's key or value, which begins at an offset of the text.
func readItem(text string, offset int, item string, result bool, f *spec.Field) (one spec.Field, err *typeError) {
	for _, kind := range []spec.Kind{spec.KindList, spec.KindMap} {
		if strings.HasPrefix(item, string(kind)) {
			return one, badType(offset, RuleGroup, "a %s holds values, not %ss", f.Kind, kind)
		}
	}
	switch err := readType(item, result, &one); {
	case err != nil:
		err.offset += offset
		return one, err
	case one.Kind.Group():
		return one, badType(offset, RuleGroup, "a %s holds values: for rows, write group", f.Kind)
	case one.Optional:
		return one, badType(offset, RuleOptional, "an item of a %s is always there", f.Kind)
	}
	return one, nil
}
