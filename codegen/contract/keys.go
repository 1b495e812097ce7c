package contract

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// promises are until when what calls have written was to live, in milliseconds: by key and element, "" for a string.
type promises map[string]map[string]int64

// A change is what a call has done to one key.
type change struct {
	key           string
	before, after content
	was, is       bool
}

func (c change) changed() bool { return c.was != c.is || c.is && !c.after.same(c.before) }

// changes are what a call has done to the keys that it wrote, in the order of their names.
func (w *watch) changes(s *server) (out []change) {
	keys := make(map[string]bool, len(w.written))
	for k := range w.written {
		keys[k] = true
	}
	before := s.look(keys)
	for k := range keys {
		c := change{key: k}
		c.before, c.was = before[k]
		c.after, c.is = s.held[k]
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b change) int { return strings.Compare(a.key, b.key) })
	return out
}

// keys checks what a call has done to its keys. back says that the clock has been set back. It returns a key from which a call that
// failed or was refused has removed something, and nothing else: that is wrong only if a later call can tell.
func (w *watch) keys(c *call, a answer, changes []change, p promises, back bool, now int64) (lost string) {
	durations := c.durations()
	for _, ch := range changes {
		line := w.written[ch.key].line
		if ch.changed() && !(ch.was && (!ch.is || ch.after.lessThan(ch.before))) {
			w.fills[suffixOf(ch.key)] = true
		}
		lasting := c.lib.forever(ch.key)
		moved := ch.is && (!ch.was || ch.after.expires != ch.before.expires)
		switch {
		case w.garbage && a.failed && !a.own: // it ended where it met the garbage
		case !ch.is:
			if last := w.written[ch.key]; last.expires && (last.existed || last.name == "SET") && !back && !w.garbage {
				w.add("bad-ttl", line, "%s removes %s, because the time that it gives is over", last.name, ch.key)
			}
		case ch.after.expires == 0 && !lasting && (!ch.was || ch.before.expires != 0):
			w.add("missing-ttl", line, "leaves %s without an expiry", ch.key)
		case moved && ch.after.expires != 0 && !back && !w.foreign:
			w.unit(ch, line, durations, now)
		}
		p.release(ch, w)
		if moved && !back && ch.was && ch.is && ch.before.expires != 0 && ch.after.expires != 0 && ch.after.expires < ch.before.expires {
			w.shortened(c, ch, line, p[ch.key], now)
		}
		if ch.is && ch.after.expires != 0 && !back && !w.foreign {
			w.outlived(ch, line, durations, now)
		}
		lost = w.refusal(a, ch, line, moved, lost)
		p.keep(ch, w, durations, now)
	}
	return lost
}

// refusal checks that a call which fails or refuses has changed nothing.
func (w *watch) refusal(a answer, ch change, line int, moved bool, lost string) string {
	if !a.failed && (!a.refused || w.fn.Refused.Records != "") || a.failed && w.foreign && !a.own || w.garbage {
		return lost
	}
	answers := "is refused"
	if a.failed {
		answers = "fails"
	}
	switch {
	case ch.changed() && !(ch.was && (!ch.is || ch.after.lessThan(ch.before))):
		w.add("refusal-writes", line, "changes %s in a call that %s: decide before the first write, or say what it records with @records", ch.key, answers)
	case moved:
		w.add("refusal-writes", line, "moves the expiry of %s in a call that %s", ch.key, answers)
	case ch.changed() && w.removed:
		return ch.key
	}
	return lost
}

// shortened checks that what others have written lives as long as they were told.
func (w *watch) shortened(c *call, ch change, line int, until map[string]int64, now int64) {
	if ch.after.kind != ch.before.kind || w.garbage {
		return
	}
	lost := func(element string) bool { return until[element] > ch.after.expires+1 }
	if ch.after.elements == nil {
		if b, a := ch.before.text, ch.after.text; b != "" && len(a) > len(b) && lost("") && !w.passed[a] && !number(a) && !number(b) && kept(b, a) && w.given(c, b, a, now) {
			w.add("shortened-ttl", line, "makes %s expire %s too soon: it still holds what an earlier call stored for longer", ch.key, milliseconds(until[""]-ch.after.expires))
		}
		return
	}
	if w.remade[ch.key] {
		return
	}
	for e, v := range ch.before.elements {
		if u, still := ch.after.elements[e]; still && u == v && !w.touched[[2]string{ch.key, e}] && lost(e) {
			w.add("shortened-ttl", line, "makes %s in %s expire %s too soon: an earlier call stored it for longer", word(e), ch.key, milliseconds(until[e]-ch.after.expires))
			return
		}
	}
}

// release forgets what came with the elements that a call removes by their names, and elements with an author's name that live no longer: it was
// a caller's own hold, for which the key lived so long.
func (p promises) release(ch change, w *watch) {
	for e := range ch.before.elements {
		if _, still := ch.after.elements[e]; !still && w.touched[[2]string{ch.key, e}] {
			own := p[ch.key][e]
			maps.DeleteFunc(p[ch.key], func(e string, until int64) bool {
				return until == own || until < own && slices.Contains(w.lib.words.texts, e)
			})
		}
	}
}

// outlived finds a time that the call has stored, now and one of its durations, and that its key does not live to see. A key that lives for
// another of them is meant to.
func (w *watch) outlived(ch change, line int, durations []int64, now int64) {
	if slices.ContainsFunc(durations, func(d int64) bool { end := ch.after.expires*1000 - now - d; return end > -2000 && end < 2000 }) {
		return
	}
	ch.after.each(func(e, text string) {
		if before, was := ch.before.elements[e]; was && before == ch.after.elements[e] || e == "" && text == ch.before.text {
			return
		}
		for _, digits := range timeForm.FindAllString(text, -1) {
			at, unit := timeOf(digits, now)
			left := at - max(ch.after.expires*1000, now)
			if !w.passed[digits] && left > 2*max(unit, 1000) && slices.ContainsFunc(durations, func(d int64) bool {
				return max(at-now-d, now+d-at) < unit || at == now+1000*d // it was added in another unit
			}) {
				w.add("outlives-key", line, "stores a time in %s that is %v ahead, and the key ends %v before it", ch.key, time.Duration(at-now)*time.Microsecond, time.Duration(left)*time.Microsecond)
			}
		}
	})
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func number(s string) bool { _, err := strconv.ParseFloat(s, 64); return err == nil }

func ahead(word string, now int64) bool {
	at, _ := timeOf(word, now)
	return timeForm.MatchString(word) && at > now
}

var token = regexp.MustCompile(`[[:alnum:]]+`)

// kept reports whether most of an old text is part of the new one, as where rows are packed again.
func kept(old, is string) bool {
	n := len(old) - min(4, len(old)/3)
	for i := 0; n > 3 && i+n <= len(old); i++ {
		if strings.Contains(is, old[i:i+n]) {
			return true
		}
	}
	return strings.Contains(is, old)
}

// given reports whether a new text still has a word of an old one that an earlier caller passed, and neither this call nor the author, or a time
// that is still to come.
func (w *watch) given(c *call, old, is string, now int64) bool {
	own := map[string]bool{}
	c.each(func(_ spec.Field, v *value) {
		for _, word := range token.FindAllString(v.text, -1) {
			own[word] = true
		}
	})
	words := token.FindAllString(is, -1)
	return slices.ContainsFunc(token.FindAllString(old, -1), func(word string) bool {
		if given := w.passed[word] && !number(word) || ahead(word, now); !given || own[word] || !slices.Contains(words, word) {
			return false
		}
		return !slices.ContainsFunc(c.lib.words.texts, func(text string) bool { return slices.Contains(token.FindAllString(text, -1), word) })
	})
}

// keep notes until when what a call has written is to live: to the end of its key, but not beyond what the call itself could mean.
func (p promises) keep(ch change, w *watch, durations []int64, now int64) {
	if !ch.is || ch.after.expires == 0 {
		delete(p, ch.key)
		return
	}
	if w.remade[ch.key] {
		delete(p, ch.key)
	}
	until := ch.after.expires
	if len(durations) > 0 {
		most := int64(0)
		for _, d := range durations {
			most += d
		}
		if ch.was && ch.before.expires == ch.after.expires { // the key lives as long for somebody else
			most = slices.Min(durations)
		}
		until = min(until, (now+most)/1000)
	}
	if p[ch.key] == nil {
		p[ch.key] = map[string]int64{}
	}
	keep := func(element string) { p[ch.key][element] = until }
	if len(durations) == 0 && ch.was && ch.before.expires == ch.after.expires { // it means no time of its own, and nothing is left of what had one
		keep = func(element string) { delete(p[ch.key], element) }
	}
	if ch.after.elements == nil && ch.after.text != ch.before.text {
		keep("")
	}
	for e, v := range ch.after.elements {
		if u, was := ch.before.elements[e]; !was || u != v || w.touched[[2]string{ch.key, e}] {
			keep(e)
		}
	}
}

// unit finds an expiry that is a thousand or a million times a duration of the call, or as much less.
func (w *watch) unit(ch change, line int, durations []int64, now int64) {
	left := ch.after.expires*1000 - now
	near := func(a, b int64) bool { return a > b-b/100-1000 && a < b+b/100+1000 }
	if left <= 0 {
		return
	}
	for _, d := range durations {
		if near(left, d) || left >= d && left/4 <= d { // that one, or a few times that one
			return
		}
	}
	if near(left, now) || slices.ContainsFunc(durations, func(d int64) bool { return near(left, now+d) }) {
		w.add("bad-ttl", line, "%s lives %v: is a time given where a span is expected?", ch.key, time.Duration(left)*time.Microsecond)
		return
	}
	for _, d := range durations {
		for _, factor := range []int64{1000, 1_000_000} {
			if d >= 1_000_000 && d < math.MaxInt64/factor && near(left, d*factor) || !ch.was && d/factor >= 10_000 && near(left, d/factor) {
				w.add("unit", line, "%s lives %v, and a duration of the call is %v: is one in other units?", ch.key, time.Duration(left)*time.Microsecond, time.Duration(d)*time.Microsecond)
				return
			}
		}
	}
}
