--- A token bucket that is its key's expiry: where the emission interval is whole milliseconds, no clock is read.
---
--- The key expires when the bucket is full; its value is 'ttl'.
--- @use clock refusal
--- @lib ttl_bucket
--- @state ttl_bucket 1 'ttl'; the key expires when the bucket is full
local ttl_bucket = {}

-- How long until the bucket is full, in microseconds. A bucket that was written under another limit has its time as
-- value, and expires in the millisecond after it.
function ttl_bucket.level_us(key, value)
  local left_ms = clock.left_ms(key)
  if left_ms == -1 or value ~= 'ttl' and not string.find(value, '^%d') then
    return nil, refusal.state(key, 'holds no time of a token bucket')
  end
  if left_ms < 0 then
    return 0
  end
  return left_ms * 1000
end

-- What token_bucket.judge returns, for a bucket that gains a token each interval_us and fills in capacity_us.
function ttl_bucket.judge(key, interval_us, capacity_us, cost)
  local level_us, stored = 0, 'ttl'
  local value = redis.call('GET', key)
  if value then
    local stored_us, failure = ttl_bucket.level_us(key, value)
    if not stored_us then
      return nil, failure
    end
    if value == 'ttl' then
      stored = nil
    end
    -- It was empty at most. If it takes longer to fill the clock was set back since; longer than twice that, and it is a
    -- broken clock's: the key starts anew.
    if stored_us <= 2 * capacity_us then
      level_us = stored_us
    end
  end
  local next_us = level_us + interval_us * cost
  if next_us > capacity_us and cost >= 0 then
    return false, math.max(math.floor((capacity_us - level_us) / interval_us), 0), next_us - capacity_us, level_us
  end
  return true, math.max(math.floor((capacity_us - next_us) / interval_us), 0), 0, level_us, next_us, stored
end

return ttl_bucket
