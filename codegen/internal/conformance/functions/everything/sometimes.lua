--- Answers with its keys, of which some go with an argument.
--- @flags  no-writes
--- @key    bucket         string[state]            the subject's key
--- @key    noted          hash[noted]?note.of      a key that goes with a text, and may be of another subject
--- @key    counted        zset[counted]?items      a key that goes with a packed group at the end
--- @key    others         string[state][0..4]     keys of other subjects
--- @arg    number         count[1..9]              an argument before
--- @arg    note           text[16]?                a text that may be absent
--- @arg    pairs_of       group[1..2]             rows that are always there
--- @arg    pairs_of.left  text[64]                 a text
--- @arg    items          group(item)[0..2]       rows with keys
--- @result number         count                    its number
--- @result keys           group                    every key, in order
--- @result keys.name      text                     the key
local function sometimes(bucket, noted, counted, others, number, note, pairs_of, items, items_state, items_seen)
  local out, entries = {{name = bucket}}, 0
  if noted and note then
    out[#out + 1] = {name = noted}
    entries = entries + redis.call('HLEN', noted)
  end
  if counted then
    out[#out + 1] = {name = counted}
    entries = entries + redis.call('ZCARD', counted)
  end
  for i = 1, #items do
    out[#out + 1] = {name = items_state[i]}
    out[#out + 1] = {name = items_seen[i]}
  end
  for i = 1, #others do
    out[#out + 1] = {name = others[i]}
    entries = entries + redis.call('STRLEN', others[i])
  end
  return number + #pairs_of + entries, out
end
