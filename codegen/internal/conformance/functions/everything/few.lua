--- Returns as many rows and items as it is asked for.
--- @flags  no-writes
--- @key    bucket          string[state]          the subject's key
--- @arg    rows            count[0..9]            number of rows
--- @arg    items           count[0..9]            number of items
--- @result results         group[2..3]            rows
--- @result results.allowed bool                   always true
--- @result results.wait    duration               always 1 ms
--- @result numbers         list[1..2] of count    items, each 7
local function few(bucket, rows, items)
  local results, numbers = {}, {}
  for i = 1, rows do
    results[i] = {allowed = redis.call('EXISTS', bucket) == 0, wait_us = 1000}
  end
  for i = 1, items do
    numbers[i] = 7
  end
  return results, numbers
end
