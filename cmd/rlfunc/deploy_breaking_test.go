package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
)

const (
	demoLibrary = "--- A library.\n--- @library demo 1.0.0\n"
	demoTake    = `--- Looks.
--- @flags  no-writes
--- @key    bucket  string[calls]     the subject's counter
--- @state  calls 1 how many calls there were
--- @arg    limit   count[1..9]       most calls
--- @arg    least   count[0..9]       least calls
--- @result allowed bool              whether there were as many
local function take(bucket, limit, least)
  local calls = redis.call('STRLEN', bucket)
  return calls <= limit and calls >= least
end
`
)

// A demoProject is a project in a folder.
type demoProject struct{ dir string }

func newDemo(t *testing.T) demoProject {
	t.Helper()
	d := demoProject{t.TempDir()}
	for name, text := range map[string]string{"rlfunc.yaml": "", "functions/demo/library.lua": demoLibrary, "functions/demo/take.lua": demoTake} {
		file := filepath.Join(d.dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		write(t, file, text)
	}
	return d
}

// version sets the library's version, and replaces texts of take.lua, each old one followed by the new one.
func (d demoProject) version(t *testing.T, version string, edits ...string) {
	t.Helper()
	text := strings.NewReplacer(edits...).Replace(demoTake)
	for name, text := range map[string]string{"library.lua": strings.Replace(demoLibrary, "1.0.0", version, 1), "take.lua": text} {
		write(t, filepath.Join(d.dir, "functions/demo", name), text)
	}
}

// does runs a command and compares its exit code. It returns standard output and standard error.
func (d demoProject) does(t *testing.T, want exitCode, args ...string) (string, string) {
	t.Helper()
	var out, errOut strings.Builder
	if code := run(append([]string{"-C", d.dir}, args...), strings.NewReader(""), &out, &errOut); code != want {
		t.Errorf("rlfunc %v: exit %d, want %d:\n%s%s", args, code, want, out.String(), errOut.String())
	}
	return out.String(), errOut.String()
}

// holds returns the libraries of a server, with their code.
func holds(t *testing.T, rdb *redis.Client) map[string]string {
	t.Helper()
	libs, err := rdb.FunctionList(t.Context(), redis.FunctionListQuery{WithCode: true}).Result()
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]string{}
	for _, l := range libs {
		held[l.Name] = l.Code
	}
	return held
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: does not say %q:\n%s", what, part, text)
		}
	}
}

const (
	lastArg = "--- @arg    least   count[0..9]       least calls\n"
	grace   = "--- @arg    grace   count[0..9]       more\n"
)

// A deploy refuses what plan lists as breaking, until it is told to go on.
func TestDeploy_refusesWhatBreaksRunningClientsAndState(t *testing.T) {
	for _, e := range engines.Ends(t) {
		for _, tt := range []struct {
			name    string
			version string
			edits   []string
			finding string // none: the deploy is fine
		}{
			{"a required argument in the middle", "1.1.0", []string{lastArg, grace + lastArg, "limit, least)", "limit, grace, least)", "<= limit", "<= limit + grace"}, "(argument-place)"},
			{"narrower bounds", "1.1.0", []string{"count[1..9]", "count[1..5]"}, "(argument-narrower)"},
			{"a result of another type", "1.1.0", []string{"allowed bool ", "allowed count", "calls <= limit and calls >= least", "calls + limit + least"}, "(result-place)"},
			{"another shape of the state", "1.1.0", []string{"calls 1 how", "calls 2 how"}, "(state-shape)"},
			{"another key", "1.1.0", []string{"string[calls]", "string[count]"}, "(key-name)"},
			{"a new major on the state of the old one", "2.0.0", []string{"calls 1 how", "calls 2 how"}, "(state-shape)"},
			{"one more result", "1.1.0", []string{"local function", "--- @result calls   count             calls so far\nlocal function", ">= least", ">= least, calls"}, ""},
			{"a result of another name", "1.1.0", []string{"@result allowed bool   ", "@result admitted bool  "}, ""},
			{"an optional argument at the end", "1.1.0", []string{lastArg, lastArg + strings.Replace(grace, "]      ", "]?     ", 1), "least)", "least, grace)", "<= limit", "<= limit + (grace or 0)"}, ""},
			{"a new major with another argument", "2.0.0", []string{lastArg, grace + lastArg, "limit, least)", "limit, grace, least)", "<= limit", "<= limit + grace"}, ""},
			{"a new version", "1.0.1", []string{"calls <= limit", "limit >= calls"}, ""},
		} {
			t.Run(e.Name+"/"+tt.name, func(t *testing.T) {
				rdb := e.Client(t)
				d := newDemo(t)
				at := []string{"--redis", e.URL}
				d.does(t, exitOK, append(at, "deploy")...)
				before := holds(t, rdb)
				d.version(t, tt.version, tt.edits...)
				saved := filepath.Join(d.dir, "plan.json")
				if tt.finding == "" {
					plan, _ := d.does(t, exitFindings, append(at, "plan")...)
					if strings.Contains(plan, "Breaking changes") {
						t.Errorf("plan:\n%s", plan)
					}
					d.does(t, exitOK, append(at, "deploy")...)
					return
				}
				plan, _ := d.does(t, exitBreaking, append(at, "plan", "--out", saved)...)
				contains(t, "plan", plan, "\nBreaking changes:\n  functions/demo/", tt.finding)
				for _, args := range [][]string{{"deploy"}, {"deploy", "demo"}, {"deploy", "--plan", saved}, {"deploy", "--partial"}} {
					out, said := d.does(t, exitBreaking, append(at, args...)...)
					contains(t, "deploy", out, "Breaking changes:", tt.finding)
					contains(t, "deploy", said, "nothing was loaded", "--allow-breaking")
				}
				if diff := cmp.Diff(before, holds(t, rdb)); diff != "" {
					t.Errorf("a refused deploy changed the server (-was +is):\n%s", diff)
				}
				out, _ := d.does(t, exitBreaking, append(at, "deploy", "--json")...)
				var refused struct{ Contract []struct{ Rule string } }
				err := json.Unmarshal([]byte(out), &refused)
				if err != nil || !slices.ContainsFunc(refused.Contract, func(f struct{ Rule string }) bool { return "("+f.Rule+")" == tt.finding }) {
					t.Errorf("deploy --json: %v in %s", err, out)
				}
				_, said := d.does(t, exitOK, append(at, "deploy", "--allow-breaking")...)
				contains(t, "deploy --allow-breaking", said, tt.finding)
				d.does(t, exitOK, append(at, "plan")...)
			})
		}
	}
}

// What a deploy replaces on request is compared as well, and what cannot be read back is not replaced unseen.
func TestDeploy_comparesDriftedLibraries(t *testing.T) {
	onEach(t, engines.Ends(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		d := newDemo(t)
		at := []string{"--redis", e.URL}
		d.does(t, exitOK, append(at, "deploy")...)
		d.version(t, "1.0.0", "count[1..9]", "count[1..5]")
		d.does(t, exitError, append(at, "deploy")...)
		out, _ := d.does(t, exitBreaking, append(at, "deploy", "--replace-drifted", "--yes")...)
		contains(t, "deploy", out, "(argument-narrower)")
		d.does(t, exitOK, append(at, "deploy", "--replace-drifted", "--yes", "--allow-breaking")...)

		unreadable := strings.Replace(holds(t, rdb)["demo_v1"], "-- rlfunc: spec=", "-- spec=", 1)
		must(t, rdb.FunctionLoadReplace(t.Context(), unreadable).Err())
		d.version(t, "1.1.0")
		for _, command := range []string{"plan", "deploy"} {
			_, said := d.does(t, exitError, append(at, command)...)
			contains(t, command, said, "compare demo_v1 on "+e.Addr, "its contract is unknown", "--allow-breaking")
		}
		d.does(t, exitOK, append(at, "deploy", "--allow-breaking")...)
	})
}

// The refusal names the connected clients that say that they use the library, and nothing that one of them chose reaches the terminal raw.
func TestDeploy_saysWhoWouldBreak(t *testing.T) {
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		tells := strings.Contains(rdb.ClientList(t.Context()).Val(), "lib-name=")
		d := newDemo(t)
		at := []string{"--redis", e.URL}
		d.does(t, exitOK, append(at, "deploy")...)
		for _, version := range []string{"1.0.0", "1.0.0", "7.0.0"} {
			lib := &fcall.Library{Name: "demo", Version: version, ServerName: "demo_v" + version[:1]}
			other := &fcall.Library{Name: "other", Version: "1.0.0", ServerName: "other_v1"}
			name := "checkout" + map[string]string{"7.0.0": "\x1b[2J" + strings.Repeat("x", 100)}[version]
			client := e.Connect(t, func(o *redis.Options) { o.ClientName, o.IdentitySuffix = name, fcall.Identity(lib, other) })
			if err := client.Ping(t.Context()).Err(); err != nil && version != "7.0.0" {
				t.Fatal(err) // the server itself refuses a name with an escape
			}
		}
		d.version(t, "1.1.0", "count[1..9]", "count[1..5]")
		for _, command := range []string{"plan", "deploy"} {
			out, said := d.does(t, exitBreaking, append(at, command)...)
			if !tells {
				contains(t, command, said, "who uses the libraries is not known on "+e.Addr+": only Redis 7.2, Valkey 7.2 and later tell")
				continue
			}
			contains(t, command, out, "CLIENTS OF  VERSION  NAME      ADDRESS    CONNECTIONS\ndemo_v1     1.0.0    checkout  127.0.0.1  2")
			if strings.Contains(out, "other_v1") || strings.Contains(out, "\x1b") {
				t.Errorf("%s:\n%s", command, out)
			}
		}
	})
}

// A rollback says what it breaks, and goes on.
func TestRollback_printsWhatItBreaks(t *testing.T) {
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		d := newDemo(t)
		at := []string{"--redis", e.URL}
		d.does(t, exitOK, append(at, "deploy")...)
		d.version(t, "1.1.0", "count[1..9]", "count[1..99]")
		d.does(t, exitOK, append(at, "deploy")...)
		out, _ := d.does(t, exitError, append(at, "rollback", "demo", "--json")...)
		contains(t, "rollback --json", out, `"rule": "argument-narrower"`)
		_, said := d.does(t, exitOK, append(at, "rollback", "demo", "--yes")...)
		contains(t, "rollback", said, "Breaking changes:", "functions/demo/take.lua:8:1: argument limit of take has at most 9 and had at most 99 (argument-narrower)")
		if strings.Contains(said, "version-lowered") {
			t.Errorf("rollback:\n%s", said)
		}
		// Also where it cannot be read back.
		d.does(t, exitOK, append(at, "deploy")...)
		unreadable := strings.Replace(strings.Replace(holds(t, rdb)["demo_v1"], "-- rlfunc: spec=", "-- spec=", 1), "version=1.1.0", "version=1.2.0", 1)
		must(t, rdb.FunctionLoadReplace(t.Context(), unreadable).Err())
		_, said = d.does(t, exitOK, append(at, "rollback", "demo", "--to", "1.0.0", "--yes")...)
		contains(t, "rollback", said, "not compared: compare demo_v1 on")
	})
}

// Services embed what is in gen/: a deploy of other sources would make them say that the server has drifted.
func TestDeploy_refusesAStaleGen(t *testing.T) {
	onEach(t, engines.Ends(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		d := newDemo(t)
		at := []string{"--redis", e.URL}
		d.does(t, exitOK, "generate")
		d.version(t, "1.0.0", "calls <= limit", "limit >= calls")
		for _, command := range []string{"plan", "deploy"} {
			_, said := d.does(t, exitError, append(at, command)...)
			contains(t, command, said, "gen/demo/demo.lua", "run `rlfunc generate`")
		}
		if held := holds(t, rdb); len(held) > 0 {
			t.Errorf("the server holds %v", held)
		}
		d.does(t, exitOK, "generate")
		d.does(t, exitOK, append(at, "deploy")...)
	})
}

// A plan fails where the deploy would: a server that refuses loads, and needs none, is a warning of both.
func TestPlan_failsOnlyWhereTheDeployDoes(t *testing.T) {
	for _, e := range engines.Real(t) {
		for setting, value := range map[string]string{"min-replicas-to-write": "1", "maxmemory": "1"} {
			t.Run(e.Name+"/"+setting, func(t *testing.T) {
				own := e.Own(t)
				rdb := own.Client(t)
				d := newDemo(t)
				for _, step := range []struct {
					deployed     bool
					plan, deploy exitCode
				}{{false, exitError, exitError}, {true, exitOK, exitOK}} {
					if step.deployed {
						must(t, rdb.ConfigSet(t.Context(), setting, "0").Err())
						d.does(t, exitOK, "deploy", "--redis", own.URL)
					}
					must(t, rdb.ConfigSet(t.Context(), setting, value).Err())
					_, planned := d.does(t, step.plan, "plan", "--redis", own.URL)
					_, deployed := d.does(t, step.deploy, "deploy", "--redis", own.URL)
					contains(t, "plan", planned, setting)
					contains(t, "deploy", deployed, setting)
				}
			})
		}
	}
}

// A deploy from an old checkout brings an emptied primary no library that breaks the clients of the newer one on the others.
func TestDeploy_comparesAnEmptiedPrimaryWithTheOthers(t *testing.T) {
	c := engines.OnPath(t).StartCluster(t, 3, 0)
	at := []string{"--redis", "redis+cluster://" + strings.Join(c.Addrs(), ",")}
	d := newDemo(t)
	d.version(t, "1.1.0", "count[1..9]", "count[1..99]")
	d.does(t, exitOK, append(at, "deploy")...)
	emptied := c.Primaries[1].Client(t)
	must(t, emptied.FunctionDelete(t.Context(), "demo_v1").Err())
	d.version(t, "1.0.0")
	for _, command := range []string{"plan", "deploy"} {
		out, _ := d.does(t, exitBreaking, append(at, command)...)
		contains(t, command, out, "(argument-narrower)")
	}
	if held := holds(t, emptied); len(held) > 0 {
		t.Errorf("the emptied primary holds %v", held)
	}
	d.version(t, "1.1.0", "count[1..9]", "count[1..99]")
	d.does(t, exitOK, append(at, "deploy")...)
}
