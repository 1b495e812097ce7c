package breaking_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

// own is every library of this module, and the one that has everything.
func own(t testing.TB) []*source.Tree {
	t.Helper()
	var out []*source.Tree
	for _, dir := range []string{"../../functions", "../internal/conformance/functions"} {
		tree, found := source.Load(os.DirFS(dir), "functions", source.Options{})
		if len(found) > 0 {
			t.Fatal(found.Error())
		}
		out = append(out, tree)
	}
	return out
}

func TestCompare_aLibraryWithItselfFindsNothing(t *testing.T) {
	snapshots := []*breaking.Snapshot{}
	for _, tree := range own(t) {
		snapshots = append(snapshots, breaking.Of(tree))
	}
	for _, c := range folderPairs(t) {
		snapshots = append(snapshots, c.old)
	}
	for _, s := range snapshots {
		if found := breaking.Compare(s, s); len(found) > 0 {
			t.Errorf("%s: %s", s.Libraries[0].Spec.Name, lines(found))
		}
	}
}

// A server's copy can replace the source: compared with any other version, both give the same findings.
func TestOfBundle_isComparedAsItsSource(t *testing.T) {
	for _, c := range folderPairs(t) {
		held := *c.old
		held.Libraries = nil
		for _, lib := range c.trees["old"].Libraries {
			one, err := breaking.OfBundle(bundle.Write(lib))
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			held.Libraries = append(held.Libraries, one)
		}
		if d := cmp.Diff(lines(breaking.Compare(c.old, c.new)), lines(breaking.Compare(&held, c.new))); d != "" {
			t.Errorf("%s (-source +server):\n%s", c.Name, d)
		}
	}
}

// Between two versions of a source that are still being made, released.sum decides; what a server holds is out.
func TestCompare_aServersBytesAreReleased(t *testing.T) {
	for _, c := range folderPairs(t) {
		if c.Name != "fine_unreleased" {
			continue
		}
		live := *c.old
		live.Live = true
		want := "functions/demo/library.lua:2:19: demo 1.1.0 has other bytes than before: raise its version (version-same)\n"
		if d := cmp.Diff(want, lines(breaking.Compare(&live, c.new))); d != "" {
			t.Errorf("findings (-want +got):\n%s", d)
		}
	}
}

// A server may hold several majors, and libraries of other teams.
func TestCompare_aServerWithSeveralMajors(t *testing.T) {
	library := func(version, limit string) breaking.Library {
		fsys := fstest.MapFS{
			"demo/library.lua": {Data: []byte("--- Counts.\n--- @library demo " + version + "\n")},
			"demo/take.lua": {Data: []byte("--- Looks.\n--- @key a string[b] c\n--- @arg limit " + limit +
				" most calls\n--- @result d count e\nlocal function take(a, limit)\n  return 1\nend\n")},
		}
		tree, found := source.Load(fsys, "functions", source.Options{})
		if len(found) > 0 {
			t.Fatal(found)
		}
		return breaking.Of(tree).Libraries[0]
	}
	server := &breaking.Snapshot{Live: true, Libraries: []breaking.Library{library("1.4.0", "count[1..5]"), library("2.0.0", "count[1..9]"), {}}}
	server.Libraries[2].Spec.Name = "theirs"
	for version, want := range map[string]string{
		"3.0.0": "",
		"2.1.0": "functions/demo/take.lua:3:10: argument limit of take has at most 7 and had at most 9 (argument-narrower)\n",
		"1.4.1": "", // a hotfix of the old major: the newer one is no reason against it
		"1.3.0": "functions/demo/library.lua:2:19: version 1.3.0 of demo is lower than 1.4.0 (version-lowered)\n",
		"0.9.0": "functions/demo/library.lua:2:19: version 0.9.0 of demo is lower than 2.0.0 (version-lowered)\n",
	} {
		s := &breaking.Snapshot{Root: "functions", Libraries: []breaking.Library{library(version, "count[1..7]")}}
		if d := cmp.Diff(want, lines(breaking.Compare(server, s))); d != "" {
			t.Errorf("%s (-want +got):\n%s", version, d)
		}
	}
}

func TestRecord_addsWhatIsNew(t *testing.T) {
	s := &breaking.Snapshot{Root: "functions", Libraries: []breaking.Library{{Digest: strings.Repeat("a", 64)}, {Digest: strings.Repeat("b", 64)}}}
	s.Libraries[0].Spec.Name, s.Libraries[0].Spec.Version = "demo", "1.10.0"
	s.Libraries[1].Spec.Name, s.Libraries[1].Spec.Version = "cost", "2.0.0"
	demo := "demo 1.9.0 sha256:" + strings.Repeat("0", 64) + "\n"
	cost := "cost 2.0.0 sha256:" + s.Libraries[1].Digest + "\n"
	s.Released = breaking.ReadReleased("functions/released.sum", demo+cost)
	text, added := breaking.Record(s)
	want := cost + demo + "demo 1.10.0 sha256:" + s.Libraries[0].Digest + "\n"
	if d := cmp.Diff(want, text); d != "" || len(added) != 1 {
		t.Errorf("released.sum with %d new (-want +got):\n%s", len(added), d)
	}
	s.Released = breaking.ReadReleased("functions/released.sum", text)
	if again, added := breaking.Record(s); again != text || len(added) != 0 {
		t.Errorf("a second time it adds %d:\n%s", len(added), again)
	}
	if found := breaking.Compare(s, s); len(found) > 0 {
		t.Error(lines(found))
	}
}

// FuzzOfBundle holds that whatever stands in a server's copy for its spec, it is refused or can be compared, in both directions.
func FuzzOfBundle(f *testing.F) {
	trees := own(f)
	lib := trees[1].Libraries[0]
	const mark = "-- rlfunc: spec="
	before, rest, _ := strings.Cut(bundle.Write(lib), mark)
	written, after, _ := strings.Cut(rest, "\n")
	mine := breaking.Of(trees[1])
	f.Add(written)
	random, parts := rand.New(rand.NewPCG(1, 2)), strings.SplitAfter(written, ",")
	for range 300 { // parts of it in another's place
		mutant := slices.Clone(parts)
		for range 1 + random.IntN(3) {
			mutant[random.IntN(len(parts))] = parts[random.IntN(len(parts))]
		}
		f.Add(strings.Join(mutant, ""))
	}
	f.Add(`{"format":1,"name":"everything","version":"1.0.0","functions":[{"name":"x","params":[{"name":"a","kind":"group","rows":"b"}],"rules":[{"expression":"a.b"}]}]}`)
	f.Fuzz(func(t *testing.T, line string) {
		theirs, err := breaking.OfBundle(before + mark + strings.ReplaceAll(line, "\n", " ") + "\n" + after)
		if err != nil {
			return
		}
		s := &breaking.Snapshot{Live: true, Libraries: []breaking.Library{theirs}}
		breaking.Compare(s, mine)
		breaking.Compare(mine, s)
	})
}

// FuzzCompare holds that no two texts of a function make the comparison panic or point outside of the new file, and that a
// text with itself finds nothing.
func FuzzCompare(f *testing.F) {
	for _, c := range folderPairs(f) {
		var texts [2]string
		for _, file := range c.Files {
			for i, name := range []string{"old/demo/take.lua", "new/demo/take.lua"} {
				if file.Name == name {
					texts[i] = string(file.Data)
				}
			}
		}
		if texts[0] != "" && texts[1] != "" {
			f.Add(texts[0], texts[1])
		}
	}
	load := func(text string) (*breaking.Snapshot, fstest.MapFS) {
		fsys := fstest.MapFS{
			"demo/library.lua": {Data: []byte("--- Examples.\n--- @library demo 1.0.0\n")},
			"demo/take.lua":    {Data: []byte(text)},
		}
		tree, found := source.Load(fsys, "functions", source.Options{})
		if len(found) > 0 {
			return nil, nil
		}
		return breaking.Of(tree), fsys
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		old, _ := load(before)
		now, fsys := load(after)
		if old == nil || now == nil {
			return
		}
		for _, d := range breaking.Compare(old, now) {
			if problem := golden.Outside(fsys, d.Diagnostic); problem != "" {
				t.Errorf("%v: %s", d, problem)
			}
		}
		for _, s := range []*breaking.Snapshot{old, now} {
			if found := breaking.Compare(s, s); len(found) > 0 {
				t.Errorf("with itself: %s", lines(found))
			}
		}
	})
}
