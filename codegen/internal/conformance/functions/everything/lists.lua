--- Answers with its own lists.
--- @flags  no-writes
--- @key    bucket   string[state]                  the subject's key
--- @arg    names    list[0..4] of text[0..8]       any bytes
--- @arg    counts   list[1..3] of count[0..9]      whole numbers, at least one
--- @arg    deltas   list[0..3] of int[-5..5]       numbers with a sign
--- @arg    scores   list[0..3] of float[-1..1]     numbers with a fraction
--- @arg    prices   list[0..3] of micros[0..1000]  money
--- @arg    waits    list[0..3] of duration[0..1h]  durations
--- @arg    times    list[0..3] of time             times
--- @arg    marks    list[0..3] of bool             bools
--- @arg    kinds    list[0..3] of enum(log,bucket) words
--- @arg    copies   count[0..9]=1                  how often the names come back
--- @result names    list[0..8] of text[0..8]       names, copies times
--- @result counts   list[0..3] of count[0..9]      counts
--- @result deltas   list[0..3] of int              deltas
--- @result scores   list[0..3] of float            scores
--- @result prices   list[0..3] of micros           prices
--- @result waits    list[0..3] of duration         waits
--- @result times    list[0..3] of time             times
--- @result marks    list[0..3] of bool             marks
--- @result kinds    list[0..3] of enum(log,bucket) kinds
--- @result total    count                          the sum of counts and waits, and the bytes of the key
local function lists(bucket, names, counts, deltas, scores, prices_micros, waits_us, times_us, marks, kinds, copies)
  local out, total = {}, redis.call('STRLEN', bucket)
  for _ = 1, copies do
    for i = 1, #names do
      out[#out + 1] = names[i]
    end
  end
  for i = 1, #counts do
    total = total + counts[i]
  end
  for i = 1, #waits_us do
    total = total + waits_us[i]
  end
  return out, counts, deltas, scores, prices_micros, waits_us, times_us, marks, kinds, total
end
