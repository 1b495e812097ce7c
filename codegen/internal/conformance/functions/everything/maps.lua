--- Answers with its own maps.
--- @flags  no-writes
--- @key    bucket  string[state]                              the subject's key
--- @arg    deltas  map[0..3] of text[0..8] to int[-5..5]      numbers with a sign by any bytes
--- @arg    waits   map[1..2] of text[8] to duration[0..1h]    durations, at least one
--- @arg    names   map[0..2] of text[8] to text[0..8]         texts
--- @arg    kinds   map[0..2] of text[8] to enum(log,bucket)   words
--- @arg    marks   map[0..2] of text[8] to bool               bools
--- @arg    papers  map[0..2] of text[8] to json[64]           JSON
--- @arg    again   count[0..9]=0                              how often the first delta comes once more
--- @result deltas  map[0..4] of text[0..8] to int             deltas
--- @result waits   map[1..2] of text to duration              waits
--- @result names   map[0..2] of text to text[0..8]            names
--- @result kinds   map[0..2] of text to enum(log,bucket)      kinds
--- @result marks   map[0..2] of text to bool                  marks
--- @result papers  map[0..2] of text to json                  papers
--- @result total   count                                      the sum of waits, and the bytes of the key
local function maps(bucket, deltas, waits, names, kinds, marks, papers, again)
  local out, total = {}, redis.call('STRLEN', bucket)
  for i = 1, #deltas do
    out[i] = deltas[i]
  end
  for _ = 1, again do
    if deltas[1] then
      out[#out + 1] = deltas[1]
    end
  end
  for i = 1, #waits do
    total = total + waits[i].value_us
  end
  return out, waits, names, kinds, marks, papers, total
end
