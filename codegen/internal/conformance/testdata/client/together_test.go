package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
)

// together is a call of the function together: what is sent for its arguments, by path and row, as they are in params.
type together struct {
	params everything.TogetherParams
	packs  []everything.TogetherPacks
	sent   map[string]string
}

func (c *together) get(path string, row int) (string, bool) {
	value, given := c.sent[fmt.Sprint(path, " ", row)]
	return value, given && value != ""
}

// randomTogether draws a call whose arguments are within their bounds, and often break a rule.
func randomTogether(r *rand.Rand) *together {
	c := &together{sent: map[string]string{}}
	set := func(path string, row int, value any) { c.sent[fmt.Sprint(path, " ", row)] = fmt.Sprint(value) }
	maybe := func() bool { return r.IntN(2) == 0 }
	word := func() string { return []string{"a", "b", "%", "\xff"}[r.IntN(4)] }
	p := &c.params
	p.Subject = "u"
	p.Kind = []everything.TogetherKind{"one", "two", "three"}[r.IntN(3)]
	p.Limit = []int64{1, 7, 9, 50, 100}[r.IntN(5)]
	p.Window = time.Duration(1+r.IntN(3000)) * time.Microsecond
	set("kind", -1, p.Kind)
	set("limit", -1, p.Limit)
	set("window", -1, p.Window.Microseconds())
	if maybe() {
		p.Cost = new(int64(r.IntN(101)))
		set("cost", -1, *p.Cost)
	}
	if maybe() {
		p.Share = new([]float64{0, 0.5, 1}[r.IntN(3)])
		set("share", -1, strconv.FormatFloat(*p.Share, 'g', -1, 64))
	}
	if maybe() {
		p.Start = time.UnixMicro(int64(1 + r.IntN(3000)))
		set("start", -1, p.Start.UnixMicro())
	}
	if maybe() {
		p.After = time.UnixMicro(int64(1 + r.IntN(6000)))
		set("after", -1, p.After.UnixMicro())
	}
	if maybe() {
		p.Hold = time.Second
		set("hold", -1, 1000000)
	}
	if maybe() {
		p.Receipt = word()
		set("receipt", -1, p.Receipt)
	}
	if maybe() {
		p.Other = word()
		set("other", -1, p.Other)
	}
	if maybe() {
		p.Fast = true
		set("fast", -1, 1)
	}
	for i := range r.IntN(4) {
		row := everything.TogetherRows{ID: word()}
		set("rows.id", i, row.ID)
		if maybe() {
			row.Part = new(int64(r.IntN(101)))
			set("rows.part", i, *row.Part)
		}
		if maybe() {
			row.Whole = new(int64(50 * r.IntN(3)))
			set("rows.whole", i, *row.Whole)
		}
		p.Rows = append(p.Rows, row)
	}
	set("rows", -1, len(p.Rows))
	for i := range r.IntN(3) {
		p.Names = append(p.Names, word())
		set("names", i, p.Names[i])
	}
	set("names", -1, len(p.Names))
	for i := range r.IntN(3) {
		row := everything.TogetherPacks{Low: int64(r.IntN(5) - 2)}
		set("packs.low", i, row.Low)
		if maybe() {
			row.High = new(int64(r.IntN(9) - 4))
			set("packs.high", i, *row.High)
		}
		if r.IntN(9) > 0 { // else a second, which exceeds each window
			row.Wait = time.Duration(900+r.IntN(1000)) * time.Microsecond
			set("packs.wait", i, row.Wait.Microseconds())
		}
		c.packs = append(c.packs, row)
	}
	set("packs", -1, len(c.packs))
	return c
}

// words are the arguments of the call as they are sent.
func (c *together) words() (words []any) {
	add := func(path string, row int) { words = append(words, c.sent[fmt.Sprint(path, " ", row)]) }
	for _, name := range []string{"kind", "limit", "window", "cost", "share", "start", "after", "hold", "receipt", "other", "fast", "rows"} {
		add(name, -1)
	}
	for i := range c.params.Rows {
		add("rows.id", i)
		add("rows.part", i)
		add("rows.whole", i)
	}
	add("names", -1)
	for i := range c.params.Names {
		add("names", i)
	}
	pack := ""
	for i := range c.packs {
		cell := func(path string) string { return c.sent[fmt.Sprint(path, " ", i)] }
		pack += cell("packs.low") + "," + cell("packs.high") + "," + cell("packs.wait") + ";"
	}
	return append(words, pack)
}

// Whatever a header asks of arguments together, the spec, the client and the server find the same calls that break it, and say the same.
func TestTogether_specClientAndServerAgree(t *testing.T) {
	lib := load(t).Libraries[0].Spec
	var fn *spec.Function
	for i := range lib.Functions {
		if lib.Functions[i].Name == "together" {
			fn = &lib.Functions[i]
		}
	}
	each(t, func(t *testing.T, rdb *redis.Client, client *everything.Client) {
		r, refused := rand.New(rand.NewPCG(1, 2)), map[string]int{}
		const calls = 4000
		for n := range calls {
			c := randomTogether(r)
			broken := map[string]bool{} // texts
			for i := range fn.Rules {
				if row, is := fn.Breaks(&fn.Rules[i], c.get); is {
					broken[fn.Rules[i].Refusal(row)] = true
					refused[fn.Rules[i].Text]++
				}
			}
			err := rdb.FCall(t.Context(), "everything_v2_together", []string{"ns:{u}:state"}, c.words()...).Err()
			switch {
			case err == nil && len(broken) == 0:
			case err == nil || !broken[strings.TrimPrefix(err.Error(), "RLARG ")]:
				t.Fatalf("call %d: %v: the server says %v, and the rules say %v", n, c.sent, err, broken)
			}
			var packErr error
			if c.params.Packs, packErr = everything.PackTogetherPacks(c.packs...); packErr == nil {
				_, err = client.Together(t.Context(), c.params)
			} else {
				err = packErr
			}
			if (err != nil) != (len(broken) > 0) || err != nil && !errors.Is(err, fcall.ErrArgument) {
				t.Fatalf("call %d: %v: the client says %v, and the rules say %v", n, c.sent, err, broken)
			}
			for text := range broken {
				if packErr == nil && !strings.Contains(err.Error(), text[strings.LastIndex(text, ".")+1:]) {
					t.Fatalf("call %d: %v: the client says %v, without %q", n, c.sent, err, text)
				}
			}
		}
		if first, row := fn.Broken((&together{sent: map[string]string{"limit -1": "1", "cost -1": "2"}}).get); first != &fn.Rules[0] || row != -1 {
			t.Errorf("the first broken rule is %v at %d", first, row)
		}
		for _, rule := range fn.Rules {
			if refused[rule.Text] == 0 {
				t.Errorf("no call of %d broke %q", calls, rule.Text)
			}
		}
		t.Log(refused)
	})
}
