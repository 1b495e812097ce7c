package contract

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/fcall"
)

const header = `--- Looks.
--- @key    list   list[list]      names
--- @arg    name   text[8]         a name
--- @arg    keep   duration[1s..1d] how long it is known
--- @result length count           names that there are
local function look(list, name, keep_us)
`

func run(t *testing.T, body string) *Report {
	t.Helper()
	r, err := Run([]*Library{one(t, header+body+"\nend\n")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun_aFunctionThatNeverEnds(t *testing.T) {
	for name, body := range map[string]string{
		"loop":     "while true do end",
		"commands": "while true do redis.call('LLEN', list) end",
		"caught":   "while true do pcall(function() while true do end end) end",
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			r := run(t, "  "+body+"\n  return 0")
			if len(r.Findings) != 1 || r.Findings[0].Rule != "endless-loop" || len(r.Findings[0].Steps) != 1 {
				t.Errorf("found %v in %v", r.Findings, time.Since(began))
			}
		})
	}
}

func TestRun_aFunctionThatFillsMemory(t *testing.T) {
	for _, body := range []string{
		"  local text = name\n  for i = 1, 60 do\n    text = text .. text\n  end\n  return #text",
		"  return #string.rep(name, 2000000000)",
	} {
		r, err := Run([]*Library{one(t, header+body+"\nend\n")}, Options{Calls: 10, Quick: true, Unshrunk: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) == 0 || !strings.Contains(r.Findings[0].Text, "not enough memory") {
			t.Errorf("found %v", r.Findings)
		}
	}
}

func TestRun_aLibraryThatDoesNotLoad(t *testing.T) {
	_, err := Run([]*Library{one(t, "local floor = math.floor\n\n"+header+"  return floor(keep_us)\nend\n")}, Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "load demo_v1 on the embedded engine: ") {
		t.Error(err)
	}
}

func TestRun_shrinksAndPrintsSteps(t *testing.T) {
	r := run(t, `  if redis.call('LLEN', list) == 2 then
    return -1
  end
  local length = redis.call('RPUSH', list, name)
  redis.call('PEXPIRE', list, math.ceil(keep_us / 1000), 'NX')
  return length`)
	if len(r.Findings) != 1 {
		t.Fatal(r.Findings)
	}
	f := r.Findings[0]
	if got, want := f.String(), "functions/demo/look.lua:6:1: demo.look: result length is -1, and the header says 0 to 9007199254740992 (result)"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	const want = `	step{Call: luatest.Call((*demo.Client).Look, demo.LookParams{Subject: "u", Name: "a", Keep: time.Second}), Writes: true, Want: luatest.Any},
	step{Call: luatest.Call((*demo.Client).Look, demo.LookParams{Subject: "u", Name: "a", Keep: time.Second}), Writes: true, Want: luatest.Any},
	step{Call: luatest.Call((*demo.Client).Look, demo.LookParams{Subject: "u", Name: "a", Keep: time.Second})},
`
	if diff := cmp.Diff(want, f.Paste()); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}

func TestRun_isTheSameEachTime(t *testing.T) {
	lib := one(t, header+"  return #name\nend\n")
	first, err := Run([]*Library{lib}, Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	second, err := Run([]*Library{lib}, Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	words := func(r *Report) (out [][]string) {
		for _, steps := range r.Sequences {
			for _, s := range steps {
				out = append(out, s.Words())
			}
		}
		return out
	}
	if diff := cmp.Diff(words(first), words(second)); diff != "" || first.Calls != second.Calls {
		t.Error(diff)
	}
}

// `rlfunc vet --run` reads a library's source, and luatest.Contract what its generated package embeds.
func TestRead_drawsTheSameCalls(t *testing.T) {
	tree, found := source.Load(os.DirFS("../../functions"), "functions", source.Options{})
	if len(found) > 0 {
		t.Fatal(found)
	}
	for _, name := range []string{"concurrency", "override"} {
		own, _ := tree.Library(name)
		lib := Of(own)
		read, err := Read(&fcall.Library{Name: name, Code: lib.Code})
		if err != nil {
			t.Fatal(err)
		}
		var drawn [2][][]string
		for i, l := range []*Library{lib, read} {
			r, err := Run([]*Library{l}, Options{Calls: 100, Most: 300, Quick: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, steps := range r.Sequences {
				for _, s := range steps {
					drawn[i] = append(drawn[i], s.Words())
				}
			}
		}
		if diff := cmp.Diff(drawn[0], drawn[1]); diff != "" {
			t.Errorf("%s (-source +package):\n%s", name, diff)
		}
	}
}

func TestRun_saysWhatNeverRan(t *testing.T) {
	r := run(t, `  if name == 'nobody thinks of this' then
    return 1
  end
  return 0`)
	want := []Place{{"functions/demo/look.lua", 8}}
	if diff := cmp.Diff(want, r.Unreached); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
	if !strings.Contains(r.Summary(), "functions/demo/look.lua:8") {
		t.Error(r.Summary())
	}
}

func TestRun_aReasonSilencesOneRule(t *testing.T) {
	const body = `  return 1 / 0 > 1 and 1 or 0`
	if r := run(t, body); len(r.Findings) != 1 {
		t.Error(r.Findings)
	}
	if r := run(t, body+" -- rlfunc:ignore division-by-zero to show how"); len(r.Findings) != 0 {
		t.Error(r.Findings)
	}
	if r := run(t, "  -- rlfunc:ignore division-by-zero to show how\n"+body); len(r.Findings) != 0 {
		t.Error(r.Findings)
	}
	if r := run(t, body+" -- rlfunc:ignore number another"); len(r.Findings) != 1 {
		t.Error(r.Findings)
	}
}

func TestRun_aFloatWithoutBounds(t *testing.T) {
	lib := one(t, `--- Returns a number.
--- @flags  no-writes
--- @key    kept string[kept] nothing
--- @arg    any  float        a number
--- @result same float        the same
local function look(kept, any)
  return redis.call("EXISTS", kept) == 1 and 0 or any
end
`)
	r, err := Run([]*Library{lib}, Options{})
	if err != nil || len(r.Findings) > 0 || r.Refused > 0 {
		t.Error(r, err)
	}
}

func TestSeed(t *testing.T) {
	for text, want := range map[string]uint64{"": 0, "7": 7, "18446744073709551615": 1<<64 - 1} {
		t.Setenv("RLFUNC_SEED", text)
		if got, err := Seed(); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"x", "-1", "1.5", "18446744073709551616"} {
		t.Setenv("RLFUNC_SEED", text)
		if _, err := Seed(); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
