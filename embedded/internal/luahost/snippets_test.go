package luahost

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

var record = flag.Bool("record", false, "ask the redis-server on PATH and write its answers to testdata")

// A snippet is a piece of Lua with the answer of Redis 7.0.15, recorded in
// testdata, and ours where it is another one. It is the body of a function f with
// keys and args; "--TOP" makes it the library's top level, "--RAW" its whole source.
//
//	return 1 .. ''
//	=> "1"
type snippet struct {
	code, redis, ours string
}

const separator = "\n----\n"

func (s snippet) source() string {
	if code, ok := strings.CutPrefix(s.code, "--RAW\n"); ok {
		return code
	}
	if code, ok := strings.CutPrefix(s.code, "--TOP\n"); ok {
		return "#!lua name=t\n" + code
	}
	return "#!lua name=t\nredis.register_function('f', function(keys, args)\n" + s.code + "\nend)"
}

var (
	snippetKeys = []string{"{k}"}
	snippetArgs = []string{"a1", "a2"}
)

// answer runs the snippet here.
func (s snippet) answer() string {
	l, err := Load(s.source(), nil)
	if err != nil {
		return "-ERR " + err.Error()
	}
	return render(l.Call("f", snippetKeys, snippetArgs, &fakeHost{}))
}

func (s snippet) String() string {
	text := s.code + "\n=> " + s.redis
	if s.ours != s.redis {
		text += "\nours> " + s.ours
	}
	return text
}

func readSnippets(t *testing.T, file string) (all []snippet) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range strings.Split(strings.TrimSuffix(string(data), "\n"), separator) {
		code, answers, ok := strings.Cut(text, "\n=> ")
		if !ok {
			t.Fatalf("%s: no answer in %q", file, text)
		}
		s := snippet{code: code}
		if s.redis, s.ours, ok = strings.Cut(answers, "\nours> "); !ok {
			s.ours = s.redis
		}
		all = append(all, s)
	}
	return all
}

func snippetFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	return files
}

func TestSnippets_answerAsRecorded(t *testing.T) {
	if *record {
		t.Skip("SKIPPED: -record writes the answers")
	}
	for _, file := range snippetFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			same, all := 0, readSnippets(t, file)
			for _, s := range all {
				if diff := cmp.Diff(s.ours, s.answer()); diff != "" {
					t.Errorf("%s\n(-want +got)\n%s", s.code, diff)
				}
				if s.ours == s.redis {
					same++
				}
			}
			t.Logf("%d of %d as Redis 7.0.15", same, len(all))
		})
	}
}

// TestSnippets_realServer holds the recorded answers against a real server, and
// records them with -record.
func TestSnippets_realServer(t *testing.T) {
	server := startRedis(t, "7.0.")
	for _, file := range snippetFiles(t) {
		all := readSnippets(t, file)
		for i := range all {
			s := &all[i]
			server.do("SET", "{k}s", "1763706467123456")
			got := server.do("FUNCTION", "LOAD", "REPLACE", s.source())
			if got.Kind != reply.Error {
				got = server.do(append([]string{"FCALL", "f", "1"}, append(snippetKeys, snippetArgs...)...)...)
			}
			server.do("FUNCTION", "DELETE", "t")
			if *record {
				s.redis, s.ours = render(got), s.answer()
			} else if diff := cmp.Diff(s.redis, render(got)); diff != "" {
				t.Errorf("%s: %s\n(-want +got)\n%s", file, s.code, diff)
			}
		}
		if !*record {
			continue
		}
		texts := make([]string, len(all))
		for i, s := range all {
			texts[i] = s.String()
		}
		if err := os.WriteFile(file, []byte(strings.Join(texts, separator)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
