package contract

import (
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// kinds are the types of values, with the command that makes each.
var kinds = map[string]string{"string": "SET", "list": "RPUSH", "set": "SADD", "hash": "HSET", "zset": "ZADD", "stream": "XADD"}

// garbage are texts that no library has written.
var garbage = []string{"x", "", "0", "1", "5", "-1", "1.5", "1e2", "9007199254740993", "nan", "{}", "a:b", "[1]", "\n", "1:2"}

// foreign draws content that another program has put under a key of the sequence. Plain content is what an operator might have put
// there, names and whole numbers, and only under keys that the library itself does not fill. The rest is garbage.
func (d *drawer) foreign() (commands [][]string, isGarbage bool) {
	if len(d.keys) == 0 {
		return nil, false
	}
	k := pick(d, d.keys)
	if d.plain && d.fills[suffixOf(k.name)] {
		return nil, false
	}
	kind := k.field.Redis
	some := []string{"string", "hash", "list", "zset", "set"}
	wrong := d.IntN(8) == 0
	if kind == "" || kind == "any" || wrong {
		kind = pick(d, some)
	}
	commands = append(commands, []string{"DEL", k.name}, d.content(kind, k.name))
	if d.IntN(2) == 0 {
		commands = append(commands, []string{"PEXPIRE", k.name, pick(d, []string{"1000", "86400000"})})
	}
	return commands, !d.plain || wrong
}

// content draws the command that makes the content.
func (d *drawer) content(kind, key string) []string {
	element := d.odd
	score := func() string {
		return pick(d, []string{"0", "-1", "1.5", "1", strconv.FormatInt(d.now+5_000_000, 10), "1e18", "inf"})
	}
	name := func() string {
		if d.IntN(4) == 0 {
			return d.odd()
		}
		return d.name()
	}
	if d.plain {
		element, score, name = d.whole, d.whole, d.name
	}
	words := []string{kinds[kind], key}
	switch kind {
	case "string":
		return append(words, element())
	case "stream":
		return append(words, "*", name(), element())
	}
	for range 1 + d.IntN(3) {
		switch kind {
		case "list":
			words = append(words, element())
		case "set":
			words = append(words, name())
		case "hash":
			words = append(words, name(), element())
		case "zset":
			words = append(words, score(), name())
		}
	}
	return words
}

func (d *drawer) whole() string {
	if len(d.words.numbers) > 0 && d.IntN(4) == 0 {
		return strconv.FormatInt(pick(d, d.words.numbers), 10)
	}
	return pick(d, []string{
		"0", "1", "2", "5", "7", "100", "1000000", "4000000000000000",
		strconv.FormatInt(d.now, 10), strconv.FormatInt(d.now+5_000_000, 10), strconv.FormatInt(d.now-5_000_000, 10),
	})
}

func (d *drawer) name() string {
	switch {
	case len(d.words.texts) > 0 && d.percent(70):
		return pick(d, d.words.texts)
	case len(d.used[spec.KindText]) > 0 && d.IntN(2) == 0:
		return pick(d, d.used[spec.KindText])
	}
	return pick(d, hostile[:4])
}

func (d *drawer) odd() string {
	switch {
	case d.words.json && d.percent(75):
		return d.object()
	case d.IntN(2) == 0:
		return d.name()
	}
	return strings.Clone(pick(d, garbage))
}
