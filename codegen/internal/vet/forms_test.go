package vet_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

func TestMain(m *testing.M) { engines.Main(m) }

// oldest returns a server of Redis 7.0, whose commands the forms have.
func oldest(t *testing.T) engines.Engine {
	t.Helper()
	for _, e := range engines.Real(t) {
		if strings.HasPrefix(e.Version, "Redis 7.0.") {
			return e
		}
	}
	onpath.Lacking(t, "there is no Redis 7.0")
	return engines.Engine{}
}

const formsFile = "forms_7_0.txt"

// TestForms_areThoseOfTheServer compares the table with COMMAND DOCS of Redis 7.0.
func TestForms_areThoseOfTheServer(t *testing.T) {
	compareTable(t, formsFile, formsOf(t, oldest(t)))
}

// compareTable compares a table with the lines that servers give, or rewrites it.
func compareTable(t *testing.T, file string, lines []string) {
	t.Helper()
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *golden.Update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatalf("write: %v", err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs from the server; run go test -update (-want +got):\n%s", file, d)
	}
}

// formsOf returns the forms of the commands that vet knows and a server has.
func formsOf(t *testing.T, e engines.Engine) []string {
	t.Helper()
	client := e.Connect(t, func(o *redis.Options) { o.Protocol = 2 })
	args := []any{"COMMAND", "DOCS"}
	for _, name := range vet.CommandNames() {
		args = append(args, name)
	}
	docs, err := client.Do(t.Context(), args...).Slice()
	if err != nil {
		t.Fatalf("command docs: %v", err)
	}
	var lines []string
	for i := 0; i+1 < len(docs); i += 2 {
		line := strings.TrimSpace(strings.ToUpper(docs[i].(string)) + " " + arguments(docs[i+1]))
		lines = append(lines, strings.Replace(line, "ZINCRBY <key> <integer>", "ZINCRBY <key> <double>", 1)) // it takes 0.5
	}
	return lines
}

// arguments returns the form of a command's arguments: of a container, one of its subcommands.
func arguments(docs any) string {
	command := pairs(docs)
	list, _ := command["arguments"].([]any)
	subcommands, _ := command["subcommands"].([]any)
	if len(subcommands) == 0 {
		return sequence(list)
	}
	var options []string
	for i := 0; i+1 < len(subcommands); i += 2 {
		_, name, _ := strings.Cut(subcommands[i].(string), "|")
		options = append(options, strings.TrimSpace(strings.ToUpper(name)+" "+arguments(subcommands[i+1])))
	}
	slices.Sort(options)
	return "(" + strings.Join(options, "|") + ")"
}

func pairs(v any) map[string]any {
	out := map[string]any{}
	list, _ := v.([]any)
	for i := 0; i+1 < len(list); i += 2 {
		out[fmt.Sprint(list[i])] = list[i+1]
	}
	return out
}

func sequence(list []any) string {
	parts := make([]string, len(list))
	for i, arg := range list {
		parts[i] = argument(pairs(arg))
	}
	return strings.Join(parts, " ")
}

func argument(arg map[string]any) string {
	inner, _ := arg["arguments"].([]any)
	flags := fmt.Sprint(arg["flags"])
	token, _ := arg["token"].(string)
	text := ""
	switch kind := fmt.Sprint(arg["type"]); kind {
	case "pure-token":
	case "oneof":
		options := make([]string, len(inner))
		for i, o := range inner {
			options[i] = argument(pairs(o))
		}
		text = "(" + strings.Join(options, "|") + ")"
	case "block":
		text = "{" + sequence(inner) + "}"
	default:
		text = "<" + kind + ">"
	}
	multiple := strings.Contains(flags, "multiple")
	switch {
	case token == "":
	case text == "":
		text = strings.ToUpper(token)
	case multiple && strings.Contains(flags, "multiple_token"):
		text = "{" + strings.ToUpper(token) + " " + text + "}"
	case multiple:
		text, multiple = strings.ToUpper(token)+" "+text+"+", false
	default:
		text = strings.ToUpper(token) + " " + text
	}
	if multiple {
		text += "+"
	}
	if strings.Contains(flags, "optional") {
		text = "[" + text + "]"
	}
	return text
}

// A formSampler makes argument lists of a form.
type formSampler struct {
	text string
	at   int
}

// samples returns lists with the least that a form asks for, and with each choice and each option once.
func (s *formSampler) samples(end byte) [][]string {
	lists := [][]string{nil}
	for s.at < len(s.text) && s.text[s.at] != end && (end != ')' || s.text[s.at] != '|') {
		c := s.text[s.at]
		s.at++
		var parts [][]string
		switch c {
		case ' ', '+':
			continue
		case '[', '{':
			parts = s.samples(c + 2)
			s.at++
		case '(':
			for s.text[s.at-1] != ')' {
				parts = append(parts, s.samples(')')...)
				s.at++
			}
		default:
			from := s.at - 1
			s.at = from + strings.IndexAny(s.text[from:]+" ", " |)]}+")
			parts = [][]string{{s.text[from:s.at]}}
		}
		least := lists[0]
		if c != '[' {
			for i := range lists {
				lists[i] = slices.Concat(lists[i], parts[0])
			}
			parts = parts[1:]
		}
		for _, part := range parts {
			lists = append(lists, slices.Concat(least, part))
		}
	}
	return lists
}

// TestForms_refuseNothingThatTheServerTakes runs each form on keys of each type, with literals in place of each whole number. COMMAND DOCS
// says wrong things of some.
func TestForms_refuseNothingThatTheServerTakes(t *testing.T) {
	client := oldest(t).Connect(t, func(o *redis.Options) { o.Protocol = 2 })
	takes := func(args []string) bool {
		for _, kind := range [][]any{{"SET", "k", "1"}, {"RPUSH", "k", "1", "2"}, {"SADD", "k", "1"}, {"ZADD", "k", "1", "a"}, {"HSET", "k", "f", "1"}, {"XADD", "k", "1-1", "f", "v"}, {"GEOADD", "k", "1", "1", "a"}} {
			client.FlushAll(t.Context())
			client.Do(t.Context(), kind...)
			words := make([]any, len(args))
			for i, a := range args {
				words[i] = a
			}
			if err := client.Do(t.Context(), words...).Err(); err == nil || err == redis.Nil {
				return true
			}
		}
		return false
	}
	literals := map[string]string{"<key>": "k", "<integer>": "1", "<double>": "1", "<unix-time>": "1", "<pattern>": "*"}
	for line := range strings.Lines(vet.Forms()) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, sample := range (&formSampler{text: text}).samples(0) {
			args := []string{name}
			for _, part := range sample {
				if literal, ok := literals[part]; ok {
					part = literal
				} else if part[0] == '<' {
					part = "1"
				}
				args = append(args, part)
			}
			for i, part := range sample {
				for _, literal := range []string{"0.5", "-1", "1e3", "a"} {
					other := slices.Clone(args)
					other[i+1] = literal
					if (part == "<integer>" || part == "<unix-time>") && !vet.Fits(other) && takes(other) {
						t.Errorf("Redis 7.0 takes %q, and the form %s does not: correct it in formsOf", other, text)
					}
				}
			}
		}
	}
}
