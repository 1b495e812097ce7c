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
	t.Skip("no Redis 7.0")
	return engines.Engine{}
}

const (
	formsFile      = "forms_7_0.txt"
	newerFormsFile = "forms_newer.txt"
)

// TestForms_areThoseOfTheServer compares the table with COMMAND DOCS of Redis 7.0.
func TestForms_areThoseOfTheServer(t *testing.T) {
	compareTable(t, formsFile, formsOf(t, oldest(t)))
}

// TestNewerForms_areThoseOfTheServers compares the table of commands that Redis 7.0 lacks with the newest servers here.
func TestNewerForms_areThoseOfTheServers(t *testing.T) {
	known := map[string]bool{}
	name := func(line string) string { name, _, _ := strings.Cut(line, " "); return name }
	for _, line := range formsOf(t, oldest(t)) {
		known[name(line)] = true
	}
	var lines []string
	for _, e := range newest(t) {
		for _, line := range formsOf(t, e) {
			if !known[name(line)] {
				lines, known[name(line)] = append(lines, line), true
			}
		}
	}
	compareTable(t, newerFormsFile, lines)
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
		lines = append(lines, strings.TrimSpace(strings.ToUpper(docs[i].(string))+" "+arguments(docs[i+1])))
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
