--- Forgets the ids of webhooks that came before a time, so that they would count as new again. The newest are spared.
--- @use clock
--- @subject the sender
--- @key    ids         zset[ids]               ids of webhooks by the time when they came first
--- @arg    age         duration[0us..7d]       forgets ids that came longer ago
--- @arg    spare       count[0..1000]=100      ids that are known in any case
--- @result removed     count[0..50000]         ids that were forgotten
--- @result known       count[0..50000]         ids that are still known
--- @result oldest      duration                how long ago the oldest of them came; 0 without any
local function purge(ids, age_us, spare)
  local now_us = clock.now_us()
  local known = redis.call('ZCARD', ids)
  local removed = 0
  if known > spare then
    local before = string.format('(%.0f', now_us - age_us)
    local old = redis.call('ZRANGEBYSCORE', ids, '-inf', before, 'LIMIT', 0, known - spare)
    if #old > 0 then
      removed = redis.call('ZREM', ids, unpack(old))
    end
  end
  local first = redis.call('ZRANGE', ids, 0, 0, 'WITHSCORES')
  local oldest_us = 0
  if first[2] then
    oldest_us = math.max(now_us - (tonumber(first[2]) or now_us), 0)
  end
  return removed, known - removed, oldest_us
end
