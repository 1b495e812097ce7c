package parity_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/engines"
)

// TestParity_embeddedAnswersAsRealServersDo runs the snippets of testdata on the embedded engine and on each real
// one. Any difference in a reply fails, except those of knownDifferences; so does a row of that table that is not true.
//
// In those files each line is one step:
//
//	@ return 1       the body of a function, which is called with keys k1 k2 and arguments a1 a2
//	> SET k1 v       a command; "quoted words" as in Go; of HELLO's reply the version, id and modules do not count
//	~ KEYS *         a command whose reply is sorted before it is compared, as its order means nothing
//	! #!lua name=x   a library to load
//	| end            the next line of the code above
//	# why            a comment
//
// A blank line removes every key and library. All is done twice, in RESP2 and in RESP3.
func TestParity_embeddedAnswersAsRealServersDo(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no snippets", err)
	}
	if real := len(engines.AllReal(t)); real == 0 || real == len(engines.All(t)) {
		t.Skipf("PARITY IS NOT CHECKED: it takes the embedded engine and a real one; of %d engines here %d are real", len(engines.All(t)), real)
	}
	steps, used := 0, map[string]bool{}
	for _, file := range files {
		topic := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(topic, func(t *testing.T) {
			snippets := readSnippets(t, file)
			steps += len(snippets)
			for _, protocol := range []string{"2", "3"} {
				t.Run("RESP"+protocol, func(t *testing.T) { compare(t, snippets, protocol, used) })
			}
		})
	}
	t.Logf("%d snippets in both protocols on %d real engines", steps, len(engines.AllReal(t)))
	for _, w := range knownWordings {
		if !used[w.theirs] && !t.Failed() && anyVersion(t, w.servers) {
			t.Errorf("knownWordings: drop what no longer differs on %s: %s", w.servers, w.reason)
		}
	}
	for _, d := range knownDifferences {
		for _, step := range d.steps {
			if !used[d.servers+step] && !t.Failed() && anyVersion(t, d.servers) {
				t.Errorf("knownDifferences: drop what no longer differs on %s: %s", d.servers, step)
			}
		}
	}
}

func TestParity_isSaidToBeUncheckedWithoutTheEmbeddedEngine(t *testing.T) {
	real := engines.AllReal(t)
	if len(real) == 0 {
		t.Skip("no real engine is here")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestParity_embeddedAnswers", "-test.v")
	cmd.Env = append(os.Environ(), "RLFUNC_ENGINES="+real[0].Name, "RLFUNC_REQUIRE_ENGINES=", "RLFUNC_ENGINE_REPORT=", "RLFUNC_ENGINE_POOL=")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PARITY IS NOT CHECKED: it takes the embedded engine and a real one; of 1 engines here 1 are real") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func compare(t *testing.T, snippets []snippet, protocol string, used map[string]bool) {
	t.Helper()
	var ours []string
	differing := make([]map[string][]string, len(snippets)) // versions by what they answer
	for _, e := range engines.All(t) {
		got := answers(t, e, snippets, protocol)
		if !e.Real {
			ours = got
			continue
		}
		for i, s := range snippets {
			if got[i] == ours[i] {
				continue
			}
			if sameButWording(ours[i], got[i], e.Version, used) {
				continue
			}
			if d := known(s, e.Version); d != nil {
				used[d.servers+s.text(" ")] = true
				continue
			}
			if differing[i] == nil {
				differing[i] = map[string][]string{}
			}
			differing[i][got[i]] = append(differing[i][got[i]], e.Version)
		}
	}
	for i, s := range snippets {
		for real, versions := range differing[i] {
			t.Errorf("%s:%d on %s\n  %s\n  real: %s\n  ours: %s", s.file, s.line, strings.Join(versions, ", "), s.text("\n  | "), real, ours[i])
		}
	}
}

// A difference is snippets that the embedded engine answers in its own way.
type difference struct {
	servers string // patterns of versions: "Redis 7.0.*, Valkey *"
	reason  string
	steps   []string // each snippet, its lines joined by blanks
}

func known(s snippet, version string) *difference {
	for i, d := range knownDifferences {
		if slices.Contains(d.steps, s.text(" ")) && match(d.servers, version) {
			return &knownDifferences[i]
		}
	}
	return nil
}

// A wording is a part of many answers that some servers word in their own way.
type wording struct {
	servers string // patterns of versions
	reason  string
	ours    *regexp.Regexp
	theirs  string
}

func sameButWording(ours, real, version string, used map[string]bool) bool {
	var applied []string
	for _, w := range knownWordings {
		if match(w.servers, version) && w.ours.MatchString(ours) {
			ours = w.ours.ReplaceAllString(ours, w.theirs)
			applied = append(applied, w.theirs)
		}
	}
	if ours != real {
		return false
	}
	for _, theirs := range applied {
		used[theirs] = true
	}
	return true
}

func match(patterns, version string) bool {
	for p := range strings.SplitSeq(patterns, ", ") {
		if ok, err := path.Match(p, version); ok && err == nil {
			return true
		}
	}
	return false
}

func anyVersion(t *testing.T, patterns string) bool {
	for _, e := range engines.AllReal(t) {
		if match(patterns, e.Version) {
			return true
		}
	}
	return false
}

// A snippet is one step of a file.
type snippet struct {
	file  string
	line  int
	kind  byte // @ > ~ !
	lines []string
	fresh bool // it begins on an empty server
}

func (s snippet) text(separator string) string { return strings.Join(s.lines, separator) }

func readSnippets(t *testing.T, file string) []snippet {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []snippet
	fresh := true
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" {
			fresh = true
			continue
		}
		kind, rest := line[0], strings.TrimPrefix(line[1:], " ")
		switch kind {
		case '#':
		case '@', '>', '~', '!':
			all = append(all, snippet{file: file, line: i + 1, kind: kind, lines: []string{line}, fresh: fresh})
			fresh = false
		case '|':
			last := &all[len(all)-1]
			last.lines = append(last.lines, rest)
		default:
			t.Fatalf("%s:%d: unknown kind of line %q", file, i+1, line)
		}
	}
	return all
}

func answers(t *testing.T, e engines.Engine, snippets []snippet, protocol string) []string {
	t.Helper()
	client := e.Client(t)
	w := dialWire(t, client)
	got := make([]string, len(snippets))
	for i, s := range snippets {
		if s.fresh {
			clean(t, w, protocol)
		}
		answer, err := s.run(w)
		if err != nil {
			t.Fatalf("%s:%d on %s: the connection is lost: %v\n  %s", s.file, s.line, e.Version, err, s.text("\n  | "))
		}
		got[i] = answer
	}
	return got
}

// clean removes keys, and the libraries one by one: see engines.
func clean(t *testing.T, w *wire, protocol string) {
	t.Helper()
	w.must(t, "HELLO", protocol)
	w.must(t, "FLUSHDB")
	list, err := w.do([]string{"FUNCTION", "LIST"}, false)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(list, `"library_name" "`)
	for _, p := range parts[1:] {
		name, _, _ := strings.Cut(p, `"`)
		w.must(t, "FUNCTION", "DELETE", name)
	}
}

func (s snippet) run(w *wire) (string, error) {
	code := strings.Join(append([]string{strings.TrimPrefix(s.lines[0][1:], " ")}, s.lines[1:]...), "\n")
	switch s.kind {
	case '@':
		library := "#!lua name=probe\nredis.register_function('probe', function(keys, args) " + code + "\nend)"
		if got, err := w.do([]string{"FUNCTION", "LOAD", "REPLACE", library}, false); err != nil || got != `"probe"` {
			return "load: " + got, err
		}
		return w.do([]string{"FCALL", "probe", "2", "k1", "k2", "a1", "a2"}, false)
	case '!':
		return w.do([]string{"FUNCTION", "LOAD", code}, false)
	}
	args, err := words(code)
	if err != nil {
		return "", err
	}
	answer, err := w.do(args, s.kind == '~')
	return ownWords.ReplaceAllString(answer, "$1"), err
}

// ownWords are those of HELLO by which servers and connections differ.
var ownWords = regexp.MustCompile(`("server"|"version"|"id"|"modules") (?:"[^"]*"|:\d+|\[(?:%?\["name" .*? \[\]\])*\])`)

// words splits a line at blanks; a word in double quotes is read as Go reads it.
func words(line string) ([]string, error) {
	var all []string
	for rest := strings.TrimLeft(line, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		if rest[0] == '"' {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, err
			}
			word, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, err
			}
			all, rest = append(all, word), rest[len(quoted):]
			continue
		}
		word, after, _ := strings.Cut(rest, " ")
		all, rest = append(all, word), after
	}
	return all, nil
}
