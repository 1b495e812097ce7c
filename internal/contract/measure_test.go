package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
	"github.com/rlfunc/rlfunc/internal/codegen/vet"
)

func TestMeasure(t *testing.T) {
	folder := os.Getenv("FOLDER")
	if folder == "" {
		t.Skip()
	}
	calls, _ := strconv.Atoi(os.Getenv("CALLS"))
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	clock, _ := os.ReadFile("../../functions/lib/clock.lua")
	files, _ := filepath.Glob(os.Getenv("CORPUS") + "/" + folder + "/*.txtar")
	only := os.Getenv("ONLY")
	n, hit, right, withTests := 0, 0, 0, 0
	var took time.Duration
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar") + "/" + strings.TrimSuffix(f.Name, ".lua")
			if only != "" && !strings.Contains(name, only) {
				continue
			}
			files := fstest.MapFS{
				"corpus/library.lua": {Data: []byte("--- Examples.\n--- @library corpus 1.0.0\n")},
				"corpus/" + f.Name:   {Data: f.Data},
			}
			if strings.Contains(string(f.Data), "@use") {
				files["lib/clock.lua"] = &fstest.MapFile{Data: clock}
			}
			tree, found := source.Load(files, "functions", source.Options{})
			var want []string
			for line := range strings.Lines(string(f.Data)) {
				if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "-- want "); ok {
					want = append(want, strings.Fields(rest)...)
				}
			}
			n++
			var shapes []string
			for _, d := range vet.Check(tree) {
				shapes = append(shapes, d.Rule)
			}
			if os.Getenv("VETONLY") != "" && len(shapes) > 0 {
				hit++
			}
			if len(found) > 0 {
				hit++
				fmt.Printf("LOAD %s %v: %.100s\n", name, want, found.Error())
				continue
			}
			began := time.Now()
			r, err := Run([]*Library{Of(tree.Libraries[0])}, Options{Calls: calls, Seed: seed, Unshrunk: only == "", Quick: os.Getenv("QUICK") != ""})
			took += time.Since(began)
			if err != nil {
				hit++
				fmt.Printf("ERR %s %v: %.100s\n", name, want, err)
				continue
			}
			if len(r.Findings) > 0 || len(shapes) > 0 {
				hit++
			}
			strict := strictly(Of(tree.Libraries[0]), string(f.Data))
			if len(r.Findings) > 0 || len(shapes) > 0 || len(strict) > 0 {
				withTests++
			}
			var rules []string
			for _, f := range r.Findings {
				rules = append(rules, f.Rule)
			}
			if slices.ContainsFunc(want, func(w string) bool { return slices.Contains(rules, w) }) {
				right++
			}
			word := "MISS"
			if len(rules) > 0 {
				word = "HIT"
			}
			fmt.Printf("%s %s want %v vet %v strict %v got %v refused %d/%d unreached %d %dms\n", word, name, want, shapes, strict, rules, r.Refused, r.Calls, len(r.Unreached), time.Since(began).Milliseconds())
			if only != "" || folder == "good" {
				for _, f := range r.Findings {
					fmt.Println("   ", f)
					for _, s := range f.Steps {
						fmt.Println("       ", s)
					}
				}
			}
		}
	}
	fmt.Printf("TOTAL %s: %d, hit %d, with strict tests %d, same rule %d, %v a function\n", folder, n, hit, withTests, right, took/time.Duration(max(n, 1)))
}

// strictly plays the calls that the corpus has for a function, as an author's tests would.
func strictly(lib *Library, text string) (rules []string) {
	s := NewStrict([]*Library{lib})
	srv := newServer(s)
	defer srv.Close()
	s.Server(srv.Server, srv.clock)
	if _, failed := srv.do("FUNCTION", "LOAD", lib.Code).(error); failed {
		return []string{"load"}
	}
	fn := lib.functions[0]
	words := func(text string) (out []string) {
		for _, p := range fn.Params {
			if p.Kind == spec.KindKey {
				text = strings.ReplaceAll(text+" ", "$"+p.Lua+" ", "corpus:{u}:"+p.Suffix+" ")
			}
		}
		for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
			if text[0] == '"' {
				quoted, err := strconv.QuotedPrefix(text)
				if err != nil {
					return out
				}
				word, _ := strconv.Unquote(quoted)
				out, text = append(out, word), text[len(quoted):]
				continue
			}
			word, rest, _ := strings.Cut(text, " ")
			text = rest
			if n, same, ok := strings.Cut(word, "*"); ok {
				if times, err := strconv.Atoi(n); err == nil {
					out = append(out, slices.Repeat([]string{same}, times)...)
					continue
				}
			}
			out = append(out, word)
		}
		return out
	}
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if !ok {
			continue
		}
		verb, rest, _ := strings.Cut(comment, " ")
		switch verb {
		case "before":
			srv.do(words(rest)...)
			s.foreign = true
		case "call", "hangs":
			keys := []string{}
			for _, p := range fn.Params {
				if p.Kind == spec.KindKey {
					keys = append(keys, "corpus:{u}:"+p.Suffix)
				}
			}
			args := append([]string{"FCALL", fn.Server, strconv.Itoa(len(keys))}, keys...)
			s.Before(false)
			srv.do(append(args, words(rest)...)...)
			for _, f := range s.After() {
				rules = append(rules, f.Rule)
			}
			srv.clock.Advance(time.Millisecond)
		}
	}
	return rules
}
