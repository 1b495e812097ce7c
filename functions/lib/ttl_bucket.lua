--- A token bucket that is its key's expiry: where the emission interval is whole milliseconds, no clock is read.
---
--- The key expires when the bucket is full; its value is 'ttl'.
--- @use clock refusal
--- @lib ttl_bucket
--- @state ttl_bucket 1 'ttl'; the key expires when the bucket is full
local ttl_bucket = {}

local unreadable = 'holds no time of a token bucket'

-- How long until the bucket is full, in microseconds. A bucket that was written under another limit has its time as
-- value, and expires in the millisecond after it.
function ttl_bucket.level_us(key, value)
  local left_ms = clock.left_ms(key)
  if left_ms == -1 or value ~= 'ttl' and not string.find(value, '^%d') then
    return nil, refusal.state(key, unreadable)
  end
  if left_ms < 0 then
    return 0
  end
  return left_ms * 1000
end

-- What token_bucket.judge returns, for a bucket that gains a token each interval_ms and fills in capacity_ms. Most calls
-- come this way, so what level_us does is written out: calling a function costs as much as ten operations.
function ttl_bucket.judge(key, interval_ms, capacity_ms, cost)
  local level_ms, stored = 0, 'ttl'
  local value = redis.call('GET', key)
  if value then
    local left_ms = clock.left_ms(key)
    if value == 'ttl' then
      stored = nil
    end
    if left_ms == -1 or stored and not string.find(value, '^%d') then
      return nil, refusal.state(key, unreadable)
    end
    -- It was empty at most. If it takes longer to fill the clock was set back since; longer than twice that, and it is a
    -- broken clock's: the key starts anew.
    if left_ms > 0 and left_ms <= 2 * capacity_ms then
      level_ms = left_ms
    end
  end
  local next_ms = level_ms + interval_ms * cost
  local refused = next_ms > capacity_ms and cost >= 0
  local room_ms = capacity_ms - next_ms
  if refused then
    room_ms = capacity_ms - level_ms
  end
  if room_ms < 0 then
    room_ms = 0
  end
  local left = (room_ms - room_ms % interval_ms) / interval_ms
  if refused then
    return false, left, (next_ms - capacity_ms) * 1000, level_ms * 1000
  end
  return true, left, 0, level_ms * 1000, next_ms * 1000, stored
end

return ttl_bucket
