// Package parity_test runs snippets on the embedded engine and on real servers, and compares the replies.
package parity_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// TestParity_embeddedAnswersAsRealServersDo runs the snippets of testdata on the embedded engine and on each real
// one, and those of testdata/redis-7.0 on servers of that version only. Any difference in a reply fails, except those that a step
// says; so does a step that says one which is not there.
//
// In those files each line is one step:
//
//	@ return 1       the body of a function, which is called with keys k1 k2 and arguments a1 a2
//	> SET k1 v       a command; "quoted words" as in Go; of HELLO's reply the version, id and modules do not count
//	~ KEYS *         a command whose reply is sorted before it is compared, as its order means nothing
//	! #!lua name=x   a library to load
//	| end            the next line of the code above
//	? *: why         the next step has another reply on these servers ("Redis 7.0.*, Valkey *"), and why that is left so
//	# why            a comment
//
// A blank line removes every key and library. All is done twice, in RESP2 and in RESP3.
func TestParity_embeddedAnswersAsRealServersDo(t *testing.T) {
	if real := len(engines.AllReal(t)); real == 0 || real == len(engines.All(t)) {
		t.Skipf("PARITY IS NOT CHECKED: it takes the embedded engine and a real one; of %d engines here %d are real", len(engines.All(t)), real)
	}
	steps, used := 0, map[string]bool{}
	for _, table := range tables(t) {
		if !anyVersion(t, table.servers) {
			t.Logf("NOT COMPARED: %s takes %s", table.file, table.servers)
			continue
		}
		topic := strings.TrimSuffix(strings.TrimPrefix(table.file, "testdata/"), ".txt")
		t.Run(topic, func(t *testing.T) {
			steps += len(table.snippets)
			for _, protocol := range []string{"2", "3"} {
				t.Run("RESP"+protocol, func(t *testing.T) { table.compare(t, protocol, used) })
			}
			for _, s := range table.snippets {
				for _, d := range s.known {
					if !t.Failed() && !used[d.place] && anyVersion(t, d.servers) {
						t.Errorf("%s: drop what no longer differs on %s: %s", d.place, d.servers, d.reason)
					}
				}
			}
		})
	}
	t.Logf("%d snippets in both protocols on %d real engines", steps, len(engines.AllReal(t)))
	for _, w := range knownWordings {
		if !used[w.theirs] && !t.Failed() && anyVersion(t, w.servers) {
			t.Errorf("knownWordings: drop what no longer differs on %s: %s", w.servers, w.reason)
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

func (table table) compare(t *testing.T, protocol string, used map[string]bool) {
	t.Helper()
	snippets := table.snippets
	var ours []string
	differing := make([]map[string][]string, len(snippets)) // versions by what they answer
	for _, e := range engines.All(t) {
		if e.Real && !match(table.servers, e.Version) {
			continue
		}
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
			if i := slices.IndexFunc(s.known, func(d difference) bool { return match(d.servers, e.Version) }); i >= 0 {
				used[s.known[i].place] = true
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

// A difference is how the embedded engine answers a snippet in its own way.
type difference struct {
	place   string // where a table says it
	servers string // patterns of versions: "Redis 7.0.*, Valkey *"
	reason  string
}

// known reports whether a table says that this step differs.
func known(t *testing.T, step snippet, version string) bool {
	return slices.ContainsFunc(tables(t), func(table table) bool {
		return slices.ContainsFunc(table.snippets, func(s snippet) bool {
			return s.text(" ") == step.text(" ") && slices.ContainsFunc(s.known, func(d difference) bool { return match(d.servers, version) })
		})
	})
}

// A wording is a part of many answers that some servers word in their own way.
type wording struct {
	servers string // patterns of versions
	reason  string
	ours    *regexp.Regexp
	theirs  string
}

var knownWordings = []wording{
	{
		servers: "*",
		reason:  "The embedded engine names a command that it does not have.",
		ours:    regexp.MustCompile(` \(the embedded engine has no '[^']*', see docs/reference/embedded\.md\)`),
		theirs:  "",
	},
	{
		servers: "Valkey 9.[1-9]*",
		reason:  "Valkey 9.1 leaves the function's name out of an error from inside.",
		ours:    regexp.MustCompile(` script: \w+, on @`),
		theirs:  " script: on @",
	},
	{
		servers: "Valkey 9.[1-9]*",
		reason:  "Valkey 9.1 gives its own name to a command that no function may call.",
		ours:    regexp.MustCompile(`^-ERR This Redis command`),
		theirs:  "-ERR This Valkey command",
	},
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
	known []difference
}

func (s snippet) text(separator string) string { return strings.Join(s.lines, separator) }

// A table is a file of snippets.
type table struct {
	file     string
	servers  string // those that it is compared with
	snippets []snippet
}

func tables(t *testing.T) []table {
	t.Helper()
	var all []table
	for pattern, servers := range map[string]string{"testdata/*.txt": "*", "testdata/redis-7.0/*.txt": "Redis 7.0.*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal("no snippets", err)
		}
		for _, file := range files {
			all = append(all, table{file, servers, readSnippets(t, file)})
		}
	}
	slices.SortFunc(all, func(a, b table) int { return strings.Compare(a.file, b.file) })
	return all
}

func readSnippets(t *testing.T, file string) []snippet {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []snippet
	var known []difference
	fresh := true
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" {
			fresh = true
			continue
		}
		kind, rest := line[0], strings.TrimPrefix(line[1:], " ")
		switch kind {
		case '#':
		case '?':
			servers, reason, found := strings.Cut(rest, ": ")
			if !found {
				t.Fatalf("%s:%d: want ? servers: reason", file, i+1)
			}
			known = append(known, difference{fmt.Sprintf("%s:%d", file, i+1), servers, reason})
		case '@', '>', '~', '!':
			all = append(all, snippet{file: file, line: i + 1, kind: kind, lines: []string{line}, fresh: fresh, known: known})
			fresh, known = false, nil
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

var writePage = flag.Bool("page", false, "write the table of differences of docs/reference/embedded.md")

// TestPage_hasTheDifferences compares the page with what the tables say, each reason with its first step.
func TestPage_hasTheDifferences(t *testing.T) {
	const page, begin, end = "../../docs/reference/embedded.md", "<!-- differences: generated -->\n", "<!-- end of differences -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the differences", page)
	}
	var b strings.Builder
	b.WriteString(before + begin + "| what and why | servers | for example |\n|---|---|---|\n")
	seen := map[string]bool{}
	for _, table := range tables(t) {
		for i, s := range table.snippets {
			for _, d := range s.known {
				if seen[d.servers+d.reason] {
					continue
				}
				seen[d.servers+d.reason] = true
				example := s.text(" ")[2:]
				if i > 0 && !s.fresh && s.kind == '>' {
					example = table.snippets[i-1].text(" ")[2:] + "; " + example
				}
				example = strings.ReplaceAll(example, "|", "\\|")
				fmt.Fprintf(&b, "| %s | %s | `` %s `` |\n", d.reason, strings.ReplaceAll(d.servers, "*", "\\*"), example)
			}
		}
	}
	b.WriteString(end + after)
	if *writePage {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(b.String(), string(text)); diff != "" {
		t.Errorf("%s is out of date: go test ./lua_test/parity -run Page -page (-want +got)\n%s", page, diff)
	}
}

func TestMain(m *testing.M) { engines.Main(m) }
