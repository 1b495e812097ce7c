--- Returns as many short rows as it is asked for.
--- @flags  no-writes
--- @key    bucket          string[state] the subject's key
--- @arg    rows            count[0..9]   number of rows
--- @result results         group[1..3]   rows
--- @result results.allowed bool          always true
--- @result results.wait    duration      always 1 ms
local function short(bucket, rows)
  local results = {}
  for i = 1, rows do
    results[i] = {allowed = redis.call('EXISTS', bucket) == 0, wait_us = 1000}
  end
  return results
end
