--- Answers if its arguments are together what the header asks.
--- @flags  no-writes
--- @key    bucket        string[state]             the subject's key
--- @arg    kind          enum(one,two,three)       how
--- @arg    limit         count[1..100]             most
--- @arg    window        duration[1us..1d]         how long
--- @arg    cost          count[0..100]=1           what it costs
--- @arg    share         float[0..1]?              which part
--- @arg    start         time?                     when it starts
--- @arg    after         time?                     when it is over
--- @arg    hold          duration[1us..1d]?        how long it is held
--- @arg    receipt       text[16]?                 its own ID
--- @arg    other         text[16]?                 another one
--- @arg    fast          bool?                     how fast
--- @arg    rows          group[0..4]               rows
--- @arg    rows.id       text[8]                   which
--- @arg    rows.part     count[0..100]?            a part
--- @arg    rows.whole    count[0..100]=50          the whole
--- @arg    names         group[0..4]               names
--- @arg    names.name    text[8]                   a name
--- @arg    packs         group[0..4]              rows
--- @arg    packs.low     int[-9..9]                one end
--- @arg    packs.high    int[-9..9]?               the other
--- @arg    packs.wait    duration[1us..1d]=1s      how long
--- @must   cost <= limit: it can never be allowed
--- @must   kind ~= 'two' or cost * limit < 5000: a two is small
--- @must   fast or share == nil or share < 1: only the fast take all
--- @must   start_us == nil or after_us == nil or start_us + window_us <= after_us: it takes its time
--- @must   receipt or not hold_us: a receipt is held
--- @must   kind ~= 'three' or (start_us and after_us): a three has both ends
--- @must   not fast or receipt or other: the fast are known
--- @must   receipt == nil or other ~= receipt: two IDs are two
--- @must   not (kind == 'two' and fast): no two is fast
--- @must   not fast or #names == #rows: each row has a name
--- @must   rows.part == nil or rows.part <= rows.whole: a part is no more than all
--- @must   packs.high == nil or packs.low <= packs.high: low is not above high
--- @must   packs.wait_us >= 1000: nobody waits less
--- @result sum           count                     the costs
local function together(
  bucket, kind, limit, window_us, cost, share, start_us, after_us, hold_us, receipt, other, fast, rows, names, packs) -- rlfunc:ignore unused-parameter the rules are about them
  local sum = cost
  for i = 1, #rows do
    sum = sum + (rows[i].part or 0)
  end
  return sum
end
