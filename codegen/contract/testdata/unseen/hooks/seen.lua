--- Says whether a webhook is new, and remembers it.
---
--- The last 50,000 ids of a sender are kept, for a week at most. One that came longer ago than window counts as new.
--- @use clock
--- @subject the sender
--- @key    ids         zset[ids]             ids of webhooks by the time when they came first
--- @arg    id          text[128]             the webhook
--- @arg    window      duration[1m..7d]=1d   how long ago the first one may be
--- @result new         bool                  whether it is the first of this id
--- @result first_ago   duration              how long ago the first one came; 0 for a new one
--- @result known       count[1..50000]       ids that are kept after the call
local function seen(ids, id, window_us)
  local now_us = clock.now_us()
  local old_us = now_us - window_us
  local first_us = tonumber(redis.call('ZSCORE', ids, id))
  if first_us and first_us > old_us then
    return false, math.max(now_us - first_us, 0), redis.call('ZCARD', ids)
  end
  redis.call('ZREMRANGEBYSCORE', ids, '-inf', clock.text(now_us - 604800000000))
  local over = redis.call('ZCARD', ids) + 1 - 50000
  while over > 0 do
    redis.call('ZREMRANGEBYRANK', ids, 0, math.min(over, 1000) - 1)
    over = over - 1000
  end
  redis.call('ZADD', ids, clock.text(now_us), id)
  clock.extend(ids, window_us)
  return true, 0, redis.call('ZCARD', ids)
end
