package bundle_test

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// own are this module's libraries and the one that has everything.
func own(t testing.TB) []*source.Library {
	t.Helper()
	var out []*source.Library
	for _, dir := range []string{"../../../functions", "../conformance/functions"} {
		tree, found := source.Load(os.DirFS(dir), "functions", source.Options{})
		if len(found) > 0 {
			t.Fatal(found.Error())
		}
		out = append(out, tree.Libraries...)
	}
	return out
}

func TestRead_givesTheLibraryBack(t *testing.T) {
	for _, lib := range own(t) {
		code := bundle.Write(lib)
		got, err := bundle.Read(code)
		if err != nil {
			t.Fatalf("read %s: %v", lib.Spec.Name, err)
		}
		left := cmp.FilterPath(func(p cmp.Path) bool {
			of := p.Index(-2).Type()
			switch strings.TrimPrefix(p.Last().String(), ".") {
			case "Summary", "Doc", "Subject", "Uses", "Reason", "Col":
				return true
			case "Line":
				return of != reflect.TypeFor[spec.Function]()
			case "File":
				return of == reflect.TypeFor[spec.Field]()
			}
			return false
		}, cmp.Ignore())
		if d := cmp.Diff(lib.Spec, got.Spec, left, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-want +got):\n%s", lib.Spec.Name, d)
		}
		for i, f := range lib.Files {
			sameCode(t, f, got.Files[i])
		}
		for i, used := range lib.Libs {
			if got.Libs[i].Name != used.Name {
				t.Errorf("lib file %d is %s, want %s", i, got.Libs[i].Name, used.Name)
			}
			sameCode(t, used.File, got.Libs[i].File)
		}
	}
}

func sameCode(t *testing.T, want, got *luasrc.File) {
	t.Helper()
	if d := cmp.Diff(want.Tokens, got.Tokens); d != "" || got.Path != want.Path {
		t.Errorf("%s is read as %s (-want +got):\n%s", want.Path, got.Path, d)
	}
}

func TestWrite_leavesCommentsOut(t *testing.T) {
	const text = `--- Takes one.
--- @use clock
local function take(bucket, note) -- why
  local text = '-- no comment' -- rlfunc:ignore some-rule because
  --[[ a long
  comment ]]
  return 1 -- the end
end
`
	const want = `do -- rlfunc: lines=8 file=functions/x/take.lua


local function take(bucket, note)
  local text = '-- no comment' -- rlfunc:ignore some-rule because
  --[[ a long
  comment ]]
  return 1
end
`
	f, found := luasrc.Parse("functions/x/take.lua", text)
	if len(found) > 0 {
		t.Fatal(found)
	}
	lib := *own(t)[0]
	lib.Files = append([]*luasrc.File{f}, lib.Files[1:]...)
	if code := bundle.Write(&lib); !strings.Contains(code, want) {
		t.Errorf("the bundle has no\n%s\n%s", want, code)
	}
}

func TestRead_refusesWhatIsNoBundle(t *testing.T) {
	code := bundle.Write(own(t)[0])
	for name, text := range map[string]string{
		"nothing":                                "",
		"another tool's":                         "#!lua name=x\nredis.register_function('f', function() return 1 end)\n",
		"no spec":                                "#!lua name=x_v1\n-- rlfunc: library=x version=1.0.0\n\n",
		"a late spec":                            "#!lua name=x_v1\n-- rlfunc: library=x version=1.0.0\n\n" + `-- rlfunc: spec={"format":1,"name":"x","version":"1.0.0"}` + "\n",
		"cut short":                              code[:strings.Index(code, " -- rlfunc: lines=")+200],
		"a spec cut short":                       strings.Replace(code, `,"name":`, `,"name`, 1),
		"another's spec":                         strings.Replace(code, "-- rlfunc: library=", "-- rlfunc: library=another", 1),
		"a newer spec":                           strings.Replace(code, `{"format":1`, `{"format":2`, 1),
		"another type":                           strings.Replace(code, `"functions":[`, `"functions":[7,`, 1),
		"1 MiB":                                  strings.Replace(code, `{"format":1`, `{"x":"`+strings.Repeat("x", 1<<20)+`","format":1`, 1),
		"a missing file":                         strings.Replace(code, `"functions":[`, `"functions":[{"name":"missing"},`, 1),
		"a deep spec":                            strings.Replace(code, `"functions":[`, `"functions":[{"name":"x","params":[{"kind":"group"`+strings.Repeat(`,"fields":[{"kind":"group"`, 5000)+strings.Repeat("}]", 5000)+`}]},`, 1),
		"no enum's default":                      strings.Replace(code, `"functions":[`, `"functions":[{"name":"x","params":[{"kind":"enum","default":3}]},`, 1),
		"a name that a terminal would interpret": strings.Replace(code, `"functions":[`, `"functions":[{"name":"\u001b[2J"},`, 1),
		"a file that a terminal would interpret": strings.Replace(code, "file=functions/lib/", "file=functions/\x1b[2J/", 1),
		"an odd rule":                            strings.Replace(code, `"functions":[`, `"functions":[{"name":"x","rules":[{"expression":"os.exit()"}]},`, 1),
		"more than is left":                      strings.Replace(code, "-- rlfunc: lines=", "-- rlfunc: lines=99999", 1),
		"below zero":                             strings.Replace(code, "-- rlfunc: lines=", "-- rlfunc: lines=-", 1),
	} {
		lib, err := bundle.Read(text)
		if !errors.Is(err, bundle.ErrNoSpec) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v, %q", name, lib, err)
		}
	}
}

// A file that looks like the generator's own lines is taken by its count, not by its looks.
func TestRead_isNotMisledByAFilesText(t *testing.T) {
	lib := *own(t)[0]
	f, found := luasrc.Parse(lib.Files[0].Path, lib.Files[0].Text+"--[[\ndo -- rlfunc: lines=1 file=functions/lib/evil.lua\nend\n]]\n")
	if len(found) > 0 {
		t.Fatal(found)
	}
	lib.Files = append([]*luasrc.File{f}, lib.Files[1:]...)
	got, err := bundle.Read(bundle.Write(&lib))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Libs) != len(lib.Libs) || !strings.HasSuffix(got.Files[0].Text, "\ndo -- rlfunc: lines=1 file=functions/lib/evil.lua\nend\n]]\n") {
		t.Errorf("%d lib files, and\n%s", len(got.Libs), got.Files[0].Text)
	}
}
