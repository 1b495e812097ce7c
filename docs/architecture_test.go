// Package docs draws pictures of pages: of docs/architecture.md from imports, of docs/performance.md from its table.
package docs

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

var update = flag.Bool("update", false, "draw the pictures again")

const (
	module  = "github.com/rlfunc/rlfunc/"
	picture = "architecture.svg"
)

// A room is a package with its subpackages, unless they are rooms themselves.
type room struct {
	name, purpose string
	imports       map[string]bool
	service       bool // a service behind guard/httpguard links it
	row, x        int  // row 0 imports no other room
}

func rooms() []*room {
	return []*room{
		{name: "cmd/rlfunc", purpose: "the command line"},
		{name: "guard/httpguard", purpose: "net/http middleware"},
		{name: "guard/grpcguard", purpose: "gRPC interceptors"},
		{name: "serve", purpose: "rlfunc serve"},
		{name: "guard/envoyguard", purpose: "Envoy's rate limits"},
		{name: "guard/telemetry", purpose: "metrics, spans, records"},
		{name: "guard", purpose: "one decision per request"},
		{name: "guard/replay", purpose: "a policy on old traffic"},
		{name: "guard/outbound", purpose: "calls to others' APIs"},
		{name: "prefetch", purpose: "hot limits in batches"},
		{name: "lua_test", purpose: "step tables, parity"},
		{name: "guard/policy", purpose: "the policy's file"},
		{name: "gen", purpose: "generated clients"},
		{name: "loader", purpose: "deploys libraries"},
		{name: "codegen", purpose: "Lua to library and client"},
		{name: "guard/identity", purpose: "who sent a request"},
		{name: "embedded", purpose: "Redis in the process"},
		{name: "fcall", purpose: "calls, keys, errors"},
		{name: "functions", purpose: "the annotated Lua"},
		{name: "codegen/spec", purpose: "contracts as JSON"},
	}
}

// read fills in what each room imports, without what another import brings anyway.
func read(t *testing.T, all []*room) {
	t.Helper()
	onpath.Used() // what it reads is not part of this program
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	of := func(path string) *room {
		var best *room
		for _, r := range all {
			if path, ok := strings.CutPrefix(path, module); ok && (path == r.name || strings.HasPrefix(path, r.name+"/")) && (best == nil || len(r.name) > len(best.name)) {
				best = r
			}
		}
		return best
	}
	byName := map[string]*room{}
	for _, r := range all {
		r.imports, byName[r.name] = map[string]bool{}, r
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		from := of(words[0])
		for _, word := range words[1:] {
			if to := of(word); from != nil && to != nil && from != to {
				from.imports[to.name] = true
			}
		}
	}
	var reach func(r *room, seen map[string]bool)
	reach = func(r *room, seen map[string]bool) {
		for name := range r.imports {
			if !seen[name] {
				seen[name] = true
				reach(byName[name], seen)
			}
		}
	}
	linked := map[string]bool{"guard/httpguard": true}
	reach(byName["guard/httpguard"], linked)
	indirect := map[*room]map[string]bool{}
	for _, r := range all {
		indirect[r] = map[string]bool{}
		for name := range r.imports {
			reach(byName[name], indirect[r])
		}
		r.service = linked[r.name]
	}
	for _, r := range all {
		for name := range indirect[r] {
			delete(r.imports, name)
		}
	}
	for range all { // a row for each import on the longest way down
		for _, r := range all {
			for name := range r.imports {
				r.row = max(r.row, byName[name].row+1)
			}
		}
	}
}

// style has colors for a light and a dark page, and a background of its own, for readers whose page has another color than their system.
const style = `<style>
path { fill: none; stroke: #8c959f }
text { fill: #1f2328 } .purpose { fill: #59636e }
.page { fill: #ffffff } .room { fill: #f6f8fa; stroke: #8c959f } .service { fill: #ddf4ff; stroke: #0969da }
@media (prefers-color-scheme: dark) {
  path { stroke: #656c76 }
  text { fill: #f0f6fc } .purpose { fill: #9198a1 }
  .page { fill: #0d1117 } .room { fill: #151b23; stroke: #656c76 } .service { fill: #121d2f; stroke: #4493f8 }
}
</style>
`

const width, height, boxWidth, boxHeight, rowGap = 980, 60, 168, 44, 56

func draw(all []*room) []byte {
	top := 0
	for _, r := range all {
		top = max(top, r.row)
	}
	rows := make([][]*room, top+1)
	for _, r := range all {
		rows[r.row] = append(rows[r.row], r)
	}
	y := func(r *room) int { return height + (top-r.row)*(boxHeight+rowGap) }
	byName := map[string]*room{}
	for _, row := range rows {
		for i, r := range row {
			r.x, byName[r.name] = (2*i+1)*width/(2*len(row))-boxWidth/2, r
		}
	}
	var b bytes.Buffer
	total := height + (top+1)*(boxHeight+rowGap) - rowGap/2
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13">`+"\n", width, total)
	b.WriteString(style)
	fmt.Fprintf(&b, `<title>Packages of rlfunc and their imports</title><rect class="page" width="%d" height="%d"/>`+"\n", width, total)
	fmt.Fprint(&b, `<text x="20" y="30">A line leads from a package down to one that it imports. Blue: what a service behind guard/httpguard links.</text>`+"\n")
	for _, r := range all {
		names := make([]string, 0, len(r.imports))
		for name := range r.imports {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			to := byName[name]
			x1, y1, x2, y2 := r.x+boxWidth/2, y(r)+boxHeight, to.x+boxWidth/2, y(to)
			fmt.Fprintf(&b, `<path d="M%d %d C%d %d %d %d %d %d"/>`+"\n", x1, y1, x1, y1+rowGap/2, x2, y2-rowGap/2, x2, y2)
		}
	}
	for _, r := range all {
		class := "room"
		if r.service {
			class = "service"
		}
		fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, class, r.x, y(r), boxWidth, boxHeight)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" font-weight="600">%s</text>`, r.x+boxWidth/2, y(r)+18, r.name)
		fmt.Fprintf(&b, `<text class="purpose" x="%d" y="%d" text-anchor="middle" font-size="11">%s</text>`+"\n", r.x+boxWidth/2, y(r)+35, r.purpose)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// TestArchitecture_pictureIsOfTheImports fails if the picture differs from the imports: go test ./docs -update draws it again.
func TestArchitecture_pictureIsOfTheImports(t *testing.T) {
	all := rooms()
	read(t, all)
	want := draw(all)
	decoder := xml.NewDecoder(bytes.NewReader(want))
	var err error
	for err == nil {
		_, err = decoder.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatalf("the picture is not well-formed: %v", err)
	}
	if *update {
		if err := os.WriteFile(picture, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(picture); err != nil || !bytes.Equal(have, want) {
		t.Errorf("docs/%s differs from the imports: draw it again with `go test ./docs -update` (%v)", picture, err)
	}
}
