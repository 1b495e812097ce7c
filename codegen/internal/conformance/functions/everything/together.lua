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
--- @arg    names         list[0..4] of text[8]     names
--- @arg    packs         packed[0..4]              packed rows
--- @arg    packs.low     int[-9..9]                one end
--- @arg    packs.high    int[-9..9]?               the other
--- @arg    packs.wait    duration[1us..1d]=1s      how long
--- @must   cost be at most limit: it can never be allowed
--- @must   cost * limit be below 5000 if kind is two
--- @must   share be below 1 unless fast
--- @must   start + window be at most after
--- @must   hold be omitted if no receipt
--- @must   start and after be given if kind is three
--- @must   receipt or other be given if fast
--- @must   other differ from receipt
--- @must   kind not be two if fast
--- @must   limit be 7 or 9 if kind is one and fast
--- @must   rows.part be at most rows.whole
--- @must   rows.part * cost be at most limit * 100
--- @must   rows differ in id or whole
--- @must   names differ
--- @must   names have as many rows as rows if fast
--- @must   packs.low be at most packs.high
--- @must   packs.wait be at least 1ms
--- @must   packs.wait be at most window: a pack waits within it
--- @result sum           count                     the costs
local function together(
  bucket, kind, limit, window_us, cost, share, start_us, after_us, hold_us, receipt, other, fast, rows, names, packs) -- rlfunc:ignore unused-parameter the rules are about them
  local sum = cost
  for i = 1, #packs do
    if packs[i].wait_us > window_us then
      return nil, {err = string.format('RLARG packs.%d.wait must be at most window: a pack waits within it', i - 1)}
    end
  end
  for i = 1, #rows do
    sum = sum + (rows[i].part or 0)
  end
  return sum
end
