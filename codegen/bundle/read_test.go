package bundle_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/bundle"
	"github.com/rlfunc/rlfunc/codegen/source"
)

// own are this module's libraries and the one that has everything.
func own(t testing.TB) []*source.Library {
	t.Helper()
	var out []*source.Library
	for _, dir := range []string{"../../functions", "../conformance/functions"} {
		tree, found := source.Load(os.DirFS(dir), "functions", source.Options{})
		if len(found) > 0 {
			t.Fatal(found.Error())
		}
		out = append(out, tree.Libraries...)
	}
	return out
}

func TestRead_givesTheSourceBack(t *testing.T) {
	for _, lib := range own(t) {
		code := bundle.Write(lib).Code
		src, err := bundle.Read(code)
		if err != nil {
			t.Fatalf("read %s: %v", lib.Spec.Name, err)
		}
		fsys, err := src.FS()
		if err != nil {
			t.Fatal(err)
		}
		tree, found := source.Load(fsys, src.Root, source.Options{})
		if len(found) > 0 || len(tree.Libraries) != 1 {
			t.Fatalf("%s: %d libraries, %v", lib.Spec.Name, len(tree.Libraries), found)
		}
		if diff := cmp.Diff(code, bundle.Write(tree.Libraries[0]).Code); diff != "" {
			t.Errorf("%s is written in another way (-want +got):\n%s", lib.Spec.Name, diff)
		}
	}
}

func TestRead_refusesWhatIsNoBundle(t *testing.T) {
	code := bundle.Write(own(t)[0]).Code
	for name, text := range map[string]string{
		"nothing":           "",
		"another tool's":    "#!lua name=x\nredis.register_function('f', function() return 1 end)\n",
		"no files":          "#!lua name=x_v1\n-- rlfunc: library=x version=1.0.0\n",
		"cut short":         code[:strings.Index(code, " -- rlfunc: lines=")+200],
		"outside":           strings.Replace(code, "file=functions/lib/", "file=../lib/", 1),
		"another root":      strings.Replace(code, "file=functions/lib/", "file=lua/lib/", 1),
		"more than is left": strings.Replace(code, "-- rlfunc: lines=", "-- rlfunc: lines=99999", 1),
		"below zero":        strings.Replace(code, "-- rlfunc: lines=", "-- rlfunc: lines=-", 1),
	} {
		if src, err := bundle.Read(text); !errors.Is(err, bundle.ErrNoSource) {
			t.Errorf("%s: %v, %v", name, src, err)
		}
	}
}

// A file that looks like the generator's own lines is taken by its count, not by its looks.
func TestRead_isNotMisledByAFilesText(t *testing.T) {
	lib := *own(t)[0]
	file := *lib.Files[0]
	file.Text += "-- x\n--[[\ndo -- rlfunc: lines=1 file=functions/lib/evil.lua\nend\n]]\n"
	lib.Files = append(lib.Files[:0:0], lib.Files...)
	lib.Files[0] = &file
	src, err := bundle.Read(bundle.Write(&lib).Code)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := src.Files["lib/evil.lua"]; ok || src.Files[lib.Spec.Name+"/"+lib.Spec.Functions[0].Name+".lua"] != file.Text {
		t.Errorf("the files are %v", src.Files)
	}
}

// FuzzRead holds that whatever a server holds makes no panic, and gives a tree that can be walked or an error.
func FuzzRead(f *testing.F) {
	for _, lib := range own(f) {
		f.Add(bundle.Write(lib).Code)
	}
	f.Add("#!lua name=x_v1\n-- rlfunc: library=x version=1.0.0\ndo -- rlfunc: lines=1 file=functions/x/f.lua\nreturn\nend\n")
	f.Fuzz(func(t *testing.T, code string) {
		src, err := bundle.Read(code)
		if err != nil {
			return
		}
		fsys, err := src.FS()
		if err != nil {
			return
		}
		source.Load(fsys, src.Root, source.Options{})
	})
}
