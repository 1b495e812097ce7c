package annotation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
)

func TestCut_keepsTheContractAndTheLines(t *testing.T) {
	const text = `--- Takes one,
--- or none.
---
--- As this paragraph says.
--- @use clock
--- @subject      who takes
--- @key   bucket string[count] forever  the bucket
--- @arg   note   text[16]="a b" what it is for
---     in two lines
--- @must  limit <= 3: more than
---     three are too many
--- @result left  count   what is left
--- @error FULL   nothing is left
--- @state count 2 one number
-- A comment.
local function take(bucket, note) -- why
  local text = '-- no comment' -- rlfunc:ignore some-rule because
  --[[ a long
  comment ]]
  return 1 -- the end
end

--- Helps.
local function help()
end
`
	const want = `--- Takes one,
--- or none.
---
---
--- @use clock
--- @subject .
--- @key   bucket string[count] forever .
--- @arg   note   text[16]="a b" .
---
--- @must  limit <= 3: more than
---     three are too many
--- @result left  count .
--- @error FULL .
--- @state count 2 .

local function take(bucket, note)
  local text = '-- no comment' -- rlfunc:ignore some-rule because
  --[[ a long
  comment ]]
  return 1
end


local function help()
end
`
	f, found := luasrc.Parse("functions/x/take.lua", text)
	if len(found) > 0 {
		t.Fatal(found)
	}
	cut := annotation.Cut(f)
	if diff := cmp.Diff(want, cut); diff != "" || strings.Count(cut, "\n") != strings.Count(text, "\n") {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f, _ = luasrc.Parse("functions/x/take.lua", cut); annotation.Cut(f) != cut {
		t.Errorf("what was cut is cut again: %s", annotation.Cut(f))
	}
}
