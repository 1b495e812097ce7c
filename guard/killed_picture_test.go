package guard_test

import (
	"fmt"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// A run is what happened to requests in one failure mode.
type run struct {
	mode   policy.OnFailure
	began  [4]time.Time // of each phase, and the end
	phases *[3]phase
}

// Positions in the picture, in pixels. Each run is a band: a line of text, and below it the areas.
const (
	picLeft, picRight   = 56, 684
	firstBand, bandStep = 112, 122
	areaHeight          = 72
	perPixel            = 50               // decisions per second
	perBucket           = time.Second / 10 // of which the areas are drawn
)

// A band is the part of the picture that shows a run.
type band struct {
	Mode             policy.OnFailure
	Story, Took      string
	Text, Top, Zero  int
	Killed, Returned string
	Areas            []area
	Grid             []tick // decisions per second
	Seconds          []tick
}

type area struct {
	Outcome outcome
	Path    string
}

type tick struct {
	At   string
	Text int
}

func bandOf(r run, i int) band {
	text := firstBand + i*bandStep
	b := band{Mode: r.mode, Text: text, Top: text + 12, Zero: text + 12 + areaHeight}
	b.Story = map[policy.OnFailure]string{
		policy.Open:   "passes every request",
		policy.Closed: "answers 503",
		policy.Local:  "admits the share of this process, here half of the limit",
	}[r.mode]
	b.Took = fmt.Sprintf("p50 %v, longest %v", r.phases[1].quantile(0.5), r.phases[1].quantile(1).Round(time.Millisecond))

	length := r.began[3].Sub(r.began[0]).Truncate(time.Second)
	x := func(d time.Duration) string {
		return fmt.Sprintf("%.1f", picLeft+(picRight-picLeft)*d.Seconds()/length.Seconds())
	}
	y := func(perSecond float64) string { return fmt.Sprintf("%.1f", float64(b.Zero)-perSecond/perPixel) }
	b.Killed, b.Returned = x(r.began[1].Sub(r.began[0])), x(r.began[2].Sub(r.began[0]))
	for n := 1000; n <= perPixel*areaHeight; n += 1000 {
		b.Grid = append(b.Grid, tick{y(float64(n)), n})
	}
	for n := 0; time.Duration(n)*time.Second <= length; n++ {
		b.Seconds = append(b.Seconds, tick{x(time.Duration(n) * time.Second), n})
	}

	// sums[n][o] is how many requests of bucket n had outcome o or one before it.
	sums := make([][outcomes]int, length/perBucket)
	for p := range r.phases {
		for _, e := range r.phases[p].ended {
			if n := int(e.at.Sub(r.began[0]) / perBucket); n < len(sums) {
				for o := e.outcome; o < outcomes; o++ {
					sums[n][o]++
				}
			}
		}
	}
	// Each area begins at 0, behind those of the outcomes before it.
	for o := outcomes - 1; o >= 0; o-- {
		var path strings.Builder
		fmt.Fprintf(&path, "M%d %d", picLeft, b.Zero)
		for n := range sums {
			fmt.Fprintf(&path, "V%sH%s", y(float64(sums[n][o])/perBucket.Seconds()), x(time.Duration(n+1)*perBucket))
		}
		fmt.Fprintf(&path, "V%dZ", b.Zero)
		b.Areas = append(b.Areas, area{o, path.String()})
	}
	return b
}

func drawRuns(t *testing.T, runs []run) []byte {
	t.Helper()
	var bands []band
	for i, r := range runs {
		bands = append(bands, bandOf(r, i))
	}
	var out strings.Builder
	if err := template.Must(template.New("runs").Parse(runsText)).Execute(&out, bands); err != nil {
		t.Fatal(err)
	}
	return []byte(out.String())
}

const runsText = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 470" width="700" height="470" role="img" aria-labelledby="title story">
<title id="title">Decisions per second while Redis is killed and comes back empty</title>
<desc id="story">While Redis is dead:{{range .}} {{.Mode}} {{.Story}} ({{.Took}}).{{end}}</desc>
<!-- Drawn by guard/killed_test.go from a run. -->
<style>
text{font:12px -apple-system,BlinkMacSystemFont,"Segoe UI","Noto Sans",Helvetica,Arial,sans-serif}
.name{font-size:14px;font-weight:600}
.name,.mark{fill:#1f2328}
.soft{fill:#59636e;font-size:12px;font-weight:400}
.card{fill:#fff;stroke:#d1d9e0}
.axis{fill:none;stroke:#d1d9e0}
.event{fill:none;stroke:#1f2328;stroke-dasharray:4 3}
.o0{fill:#0969da}
.o1{fill:#a475f9}
.o2{fill:#afb8c1}
.o3{fill:#cf222e}
@media(prefers-color-scheme:dark){
.card{fill:#0d1117;stroke:#3d444d}
.axis{stroke:#3d444d}
.event{stroke:#f0f6fc}
.name,.mark{fill:#f0f6fc}
.soft{fill:#9198a1}
.o0{fill:#1f6feb}
.o1{fill:#a371f7}
.o2{fill:#656c76}
.o3{fill:#da3633}
}
</style>
<rect class="card" x=".5" y=".5" width="699" height="469" rx="6"/>
<text class="name" x="16" y="26">Decisions per second<tspan class="soft" dx="8">one process, 50 clients, each limited to 20 requests per second</tspan></text>
<rect class="o0" x="16" y="44" width="12" height="12"/><text class="mark" x="34" y="54">passed</text>
<rect class="o1" x="96" y="44" width="12" height="12"/><text class="mark" x="114" y="54">passed without Redis</text>
<rect class="o2" x="258" y="44" width="12" height="12"/><text class="mark" x="276" y="54">refused</text>
<rect class="o3" x="346" y="44" width="12" height="12"/><text class="mark" x="364" y="54">answered with 503</text>
{{with index . 0}}<text class="mark" x="{{.Killed}}" y="86" text-anchor="middle">Redis is killed</text>
<text class="mark" x="{{.Returned}}" y="86" text-anchor="middle">Redis is back, empty</text>
{{end}}{{range .}}<text class="name" x="16" y="{{.Text}}">{{.Mode}}<tspan class="soft" dx="8">{{.Story}}</tspan></text>
<text class="soft" x="684" y="{{.Text}}" text-anchor="end">without Redis {{.Took}}</text>
{{range .Grid}}<path class="axis" d="M56 {{.At}}H684"/><text class="soft" x="50" y="{{.At}}" dy="4" text-anchor="end">{{.Text}}</text>
{{end}}{{range .Areas}}<path class="o{{.Outcome}}" d="{{.Path}}"/>
{{end}}<path class="axis" d="M56 {{.Zero}}H684"/>
<path class="event" d="M{{.Killed}} {{.Top}}V{{.Zero}}M{{.Returned}} {{.Top}}V{{.Zero}}"/>
{{end}}{{with index . 2}}{{range .Seconds}}<text class="soft" x="{{.At}}" y="458" text-anchor="middle">{{.Text}} s</text>
{{end}}{{end}}</svg>
`
