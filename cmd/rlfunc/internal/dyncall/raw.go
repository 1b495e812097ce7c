package dyncall

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// A Tap is a hook of a client that keeps the last FCALL and its reply, as redis-cli shows them.
type Tap struct {
	mu          sync.Mutex
	call, reply string
}

func (t *Tap) DialHook(next redis.DialHook) redis.DialHook { return next }

func (t *Tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		t.keep(cmd)
		return err
	}
}

func (t *Tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			t.keep(cmd)
		}
		return err
	}
}

func (t *Tap) keep(cmd redis.Cmder) {
	sent, ok := cmd.(interface{ Val() any })
	if name := strings.ToLower(cmd.Name()); !ok || name != "fcall" && name != "fcall_ro" || cmd.Err() != nil {
		return
	}
	words := make([]string, len(cmd.Args()))
	for i, arg := range cmd.Args() {
		words[i] = fmt.Sprint(arg)
		if i > 2 {
			words[i] = strconv.Quote(words[i])
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.call, t.reply = strings.Join(words, " "), asSent(sent.Val(), "")
}

// asSent writes a reply as redis-cli does.
func asSent(val any, indent string) string {
	switch val := val.(type) {
	case int64:
		return fmt.Sprintf("(integer) %d", val)
	case string:
		return strconv.Quote(val)
	case []any:
		lines := make([]string, len(val))
		for i, v := range val {
			lines[i] = fmt.Sprintf("%d) %s", i+1, asSent(v, indent+"   "))
		}
		return strings.Join(lines, "\n"+indent)
	}
	return fmt.Sprint(val)
}

// Lines are the call and the reply, and how replies of the function are read.
func (t *Tap) Lines(c *Call) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := []string{t.call, t.reply, "", "n is the number below, and m is -1 - n. Durations and times are microseconds, and enums count from 0."}
	results := spec.Sent(c.spec.Results)
	lines = append(lines, readings("the first element, or the reply if it is one number", results)...)
	if first := slices.IndexFunc(results, func(f spec.Field) bool { return f.Kind.Repeated() }); first >= 0 {
		lines = append(lines, "  n < 0, no list:        the one row of "+results[first].Name+"; the first small result is 1, all others are zero")
	}
	for _, f := range results {
		if f.Kind.Repeated() {
			lines = append(lines, readings("then each row of "+f.Name, f.Fields)...)
		}
	}
	return append(lines, "docs/reference/wire.md explains it.", "")
}

// readings say how a record is read. docs/reference/wire.md has the same words.
func readings(what string, fields []spec.Field) []string {
	var small, others, listed, texts []string
	above, wide := int64(1), ""
	for _, f := range fields {
		if f.Kind.Repeated() {
			others = append(others, "the number of "+f.Name)
		}
	}
	listed = append(listed, others...)
	for i, digit := range spec.Digits(fields) {
		f := fields[i]
		name := f.Name
		if strings.HasPrefix(f.Lua, spec.HasPrefix) {
			name = "whether it has " + name
		}
		switch {
		case f.Kind.Repeated():
		case f.Kind.Text():
			texts = append(texts, name)
		case digit == 0:
			others, listed = append(others, name), append(listed, name)
		case digit == spec.Wide:
			wide, listed = name, append(listed, name)
		default:
			small = append(small, part(name, above))
			above *= digit
		}
	}
	fixed := small
	if wide != "" {
		small = append(small[:len(small):len(small)], part(wide, above))
		above *= spec.Wide
	}
	first := small
	if len(others) > 0 {
		first = append(small[:len(small):len(small)], part(others[0], above))
	}
	lines := []string{what + ":"}
	add := func(condition, form string, parts []string, after ...string) {
		if len(parts) == 0 {
			parts = []string{"0"}
		}
		line := fmt.Sprintf("  %-22s "+form, condition, strings.Join(parts, " + "))
		if len(after) > 0 {
			line += ", then " + strings.Join(after, ", ")
		}
		lines = append(lines, line)
	}
	if len(first) > 0 {
		add("n >= 0:", "n = %s", first, texts...)
	} else {
		lines = append(lines, "  "+strings.Join(texts, ", "))
	}
	if len(listed) == 0 {
		return lines
	}
	add("n < 0, m % 4 = 0:", "m / 4 = %s", fixed, append(listed, texts...)...)
	if slices.ContainsFunc(fields, func(f spec.Field) bool { return f.Kind.Repeated() }) { // numbers of rows come first, and are no thousands
		return lines
	}
	if len(others) > 0 {
		thousands := append(small[:len(small):len(small)], part(others[0]+" / 1000", above))
		add("n < 0, m % 4 = 1:", "m / 4 = %s", thousands, texts...)
	}
	if len(others) > 1 {
		pair := append(small[:len(small):len(small)], part(others[0]+" / 1000", spec.PairSmall), part(others[1]+" / 1000", spec.PairSmall*spec.PairNumber))
		add("n < 0, m % 4 = 2:", "m / 4 = %s", pair, texts...)
	}
	return lines
}

func part(name string, place int64) string {
	if place == 1 {
		return name
	}
	return fmt.Sprintf("%d * %s", place, name)
}
