package embedded_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

// notes is an Observer that writes down what it is told.
type notes struct {
	lines []string
	most  int
}

func (n *notes) add(format string, args ...any) {
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *notes) Loaded(library string, blocks []embedded.Block) {
	n.add("loaded %s %v", library, blocks)
}

func (n *notes) Called(library, function string, keys, args []string) int {
	n.add("called %s %s %v %v", library, function, keys, args)
	return n.most
}
func (n *notes) Block(i int) { n.add("block %d", i) }
func (n *notes) Operator(line int, problem, text string, _ ...any) {
	n.add("%d: %s: %s", line, problem, text)
}

func (n *notes) Text(line int, text, problem, what string) { n.add("%d: %s: %s", line, problem, what) }

func (n *notes) Replied(elements int, failure string) { n.add("replied %d %s", elements, failure) }
func (n *notes) Returned(values []any)                { n.add("returned %v", values) }
func (n *notes) Ended(steps int)                      { n.add("ended %t", steps > 0) }
func (n *notes) Command(line int, args []any, keys []string, sizes []int, write, protected bool) {
	n.add("%d: command %#v of %v %v, write %t, protected %t", line, args, keys, sizes, write, protected)
}

func TestObserver_seesWhatAFunctionDoes(t *testing.T) {
	const library = `#!lua name=l
local function act(key, n)
  if n > 0 then
    redis.call('SET', key, n)
  end
  local _ = n / 0
  _ = n * -1
  _ = {1, nil, 3}
  _ = #_ + #'text'
  _ = n == '1'
  _ = '10' < '9'
  _ = 0 / 0 < 1
  _ = n * 10000000000000001 .. ''
  _ = tostring(-(n - n))
  _ = string.format('%d %s %.0f', 1.5, 'x', n)
  redis.pcall('LPUSH', key, 'x')
  return n, {left = -n, {true}}, nil
end
redis.register_function('f', function(keys, args)
  local out_n, out_rows = act(keys[1], #args)
  return out_n
end)`
	n := &notes{}
	s := embedded.New(embedded.Options{Observer: n})
	defer s.Close()
	do := func(args ...any) (any, error) {
		cmd := redis.NewCmd(t.Context(), args...)
		err := s.Process(t.Context(), cmd)
		return cmd.Val(), err
	}
	if _, err := do("FUNCTION", "LOAD", library); err != nil {
		t.Fatal(err)
	}
	if got, err := do("FCALL", "f", 1, "k", "a"); got != int64(1) || err != nil {
		t.Error(got, err)
	}
	want := strings.Split(`loaded l [{3 0 false} {4 0 false} {20 2 false}]
called l f [k] [a]
block 2
block 0
block 1
4: command []interface {}{"SET", "k", 1} of [k] [0], write true, protected false
replied 1 
6: division-by-zero: divides by 0
9: hole: takes the length of a list with a hole: 3 here, and perhaps another on a server
10: mixed-comparison: compares a number with a string, which is never equal
11: mixed-comparison: compares two numbers as texts, in which '10' is less than '9'
12: division-by-zero: divides by 0
12: mixed-comparison: compares NaN, with which no comparison is true
13: number-text: the text 1e+16 is above 2^53, where numbers have gaps
14: number-text: the text -0 is -0
15: caller-text: string.format reads a text as a format
15: number-text: the text 1 has lost the fraction of the number
16: command []interface {}{"LPUSH", "k", "x"} of [k] [1], write true, protected true
replied 0 WRONGTYPE Operation against a key holding the wrong kind of value
returned [true 1 map[left:-1 1:map[1:true]] <nil>]
ended true`, "\n")
	if diff := cmp.Diff(want, n.lines); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}

func TestObserver_stopsACall(t *testing.T) {
	n := &notes{most: 5000}
	s := embedded.New(embedded.Options{Observer: n})
	defer s.Close()
	const library = "#!lua name=l\nredis.register_function('f', function() while true do pcall(function() while true do end end) end end)"
	must(t, s.Process(t.Context(), redis.NewCmd(t.Context(), "FUNCTION", "LOAD", library)))
	err := s.Process(t.Context(), redis.NewCmd(t.Context(), "FCALL", "f", 0))
	if err == nil || !strings.HasPrefix(err.Error(), "ERR stopped after 5000 instructions") {
		t.Error(err)
	}
	if !slices.Contains(n.lines, "ended true") {
		t.Error(n.lines)
	}
}
