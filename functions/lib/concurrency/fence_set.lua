--- The fences of a subject's holders: a hash of them by ':<holder>', and the last one by 'last'.
---
--- A fence is the clock in microseconds, or one more than the last fence if that is greater. So fences grow after a failover that lost
--- some, as long as the new primary's clock is not behind by more than the failover took.
--- @use clock holder_set
--- @lib fence_set
--- @state fences 1 the fence of each holder by ':<holder>', and the last one by 'last'
local fence_set = {}

-- Returns a fence, 0 if it is unknown.
function fence_set.read(key, field)
  return clock.parse_us(redis.call('HGET', key, field) or '0') or 0
end

-- Keeps the fences as long as a lease that was extended.
function fence_set.keep(key, ends_us, now_us)
  clock.extend(key, ends_us - now_us + holder_set.keep_us)
end

-- Stores and returns the fence of a new acquisition, and forgets those of holders whose leases have ended.
function fence_set.add(key, holder, ended, ends_us, now_us)
  for i = 1, #ended do
    redis.call('HDEL', key, ':' .. ended[i])
  end
  local last = fence_set.read(key, 'last')
  local fence = math.max(last + 1, now_us)
  redis.call('HSET', key, 'last', clock.text(fence), ':' .. holder, clock.text(fence))
  if last == 0 then
    clock.expire(key, ends_us - now_us + holder_set.keep_us)
  else
    fence_set.keep(key, math.max(fence, ends_us), now_us)
  end
  return fence
end

-- Returns held if the holder's place, whose lease ends at own_ends_us, has this fence, any if 0; or else not_held or superseded.
function fence_set.check(key, holder, fence, own_ends_us)
  local own = fence > 0 and fence_set.read(key, ':' .. holder) or 0
  if own_ends_us == 0 or fence > own then
    return 'not_held'
  end
  return fence < own and 'superseded' or 'held'
end

return fence_set
