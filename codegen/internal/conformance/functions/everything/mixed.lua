--- Answers with the keys of groups that are packed and groups that are not.
--- @flags  no-writes
--- @key    bucket         string[state]            the subject's key
--- @arg    first          packed(item)[0..2]       packed rows with keys
--- @arg    plain          group[0..2]              rows that are not packed
--- @arg    plain.name     text[8]                  the row's name
--- @key    plain.list     list[list:<name>]        its key
--- @arg    second         packed(item)[1..2]       packed rows of the same kind
--- @arg    last           packed[0..2]             packed rows without keys
--- @arg    last.n         count[0..9]?             a number that may be absent
--- @arg    after          count                    an argument behind the groups
--- @result keys           group                    every key, in order
--- @result keys.name      text                     the key
--- @result sum            count                    the numbers of last, 10 for an absent one, after, and the entries of second's seen
local function mixed(bucket, first, first_state, first_seen, plain, second, second_state, second_seen, last, after)
  local out, sum = {{name = bucket}}, after
  for i = 1, #first do
    out[#out + 1] = {name = first_state[i]}
    out[#out + 1] = {name = first_seen[i]}
  end
  for i = 1, #plain do
    out[#out + 1] = {name = plain[i].list}
  end
  for i = 1, #second do
    out[#out + 1] = {name = second_state[i]}
    out[#out + 1] = {name = second_seen[i]}
    sum = sum + redis.call('ZCARD', second_seen[i])
  end
  for i = 1, #last do
    sum = sum + (last[i].n or 10)
  end
  return out, sum
end
