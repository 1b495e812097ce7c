--- Answers with the keys of several groups.
--- @flags  no-writes
--- @key    bucket         string[state]            the subject's key
--- @arg    first          group(item)[0..2]       rows with keys
--- @arg    plain          group[0..2]              rows with a key
--- @arg    plain.name     text[8]                  the row's name
--- @key    plain.list     list[list:<name>]        its key
--- @arg    second         group(item)[1..2]       rows of the same kind
--- @arg    last           group[0..2]             rows without keys
--- @arg    last.n         count[0..9]?             a number that may be absent
--- @arg    after          count                    an argument behind the groups
--- @result keys           group                    every key, in order
--- @result keys.name      text                     the key
--- @result sum            count                    the numbers of last, 10 for an absent one, after, and the entries of second's seen
local function mixed(bucket, first, first_state, first_seen, plain, plain_list, second, second_state, second_seen, last, after)
  local out, sum = {{name = bucket}}, after
  for i = 1, #first do
    out[#out + 1] = {name = first_state[i]}
    out[#out + 1] = {name = first_seen[i]}
  end
  for i = 1, #plain do
    out[#out + 1] = {name = plain_list[i]}
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
