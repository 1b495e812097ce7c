--- Reads points, and writes nothing.
--- @flags  no-writes
--- @key    meta   hash[meta]             'count' of all jobs, 'prevCount' and 'prevTS' of the last closed minute
--- @key    points list[points]           jobs of each minute, the newest first
--- @arg    first  count[0..10079]=0      the first point, from 0 for the newest
--- @arg    last   count[0..10079]=59     the last point
--- @result count  count                  jobs since counting began
--- @result length count                  points that are there
--- @result points list[0..1000] of count the points, the newest first
--- @error  TOOMANY                       more than 1000 points
local function read(meta, points, first, last)
  if last - first >= 1000 then
    return nil, {err = 'TOOMANY more than 1000 points'}
  end
  local out = redis.call('LRANGE', points, first, last)
  for i = 1, #out do
    out[i] = tonumber(out[i]) or 0
  end
  return tonumber(redis.call('HGET', meta, 'count')) or 0, redis.call('LLEN', points), out
end
