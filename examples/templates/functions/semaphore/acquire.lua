--- Takes a place for a holder, if fewer than limit are taken.
---
--- The same holder again keeps its place, and its lease ends no sooner than before. A refused call writes nothing.
--- @use clock
--- @key    leases      zset[leases]        the holders, with the end of each lease
--- @arg    holder      text[64]            the holder, unique to one acquisition: fcall.NewToken in Go
--- @arg    limit       count[1..1000]      most places
--- @arg    lease       duration[1ms..1d]   how long the place is kept unless it is renewed or released
--- @result allowed     bool                whether the holder has a place now
--- @result taken       count               places that are taken after the call: 3
--- @result retry_after duration            wait until the first lease ends; 0 when allowed
local function acquire(leases, holder, limit, lease_us)
  local now_us = clock.now_us()
  local open = '(' .. clock.text(now_us)
  local taken = redis.call('ZCOUNT', leases, open, '+inf')
  local mine_us = tonumber(redis.call('ZSCORE', leases, holder)) or 0
  if mine_us <= now_us then
    if taken >= limit then
      local first = redis.call('ZRANGEBYSCORE', leases, open, '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
      return false, taken, math.max((tonumber(first[2]) or now_us) - now_us, 1)
    end
    taken = taken + 1
  end
  redis.call('ZADD', leases, 'GT', clock.text(now_us + lease_us), holder)
  clock.extend(leases, lease_us)
  redis.call('ZREMRANGEBYSCORE', leases, '-inf', clock.text(now_us))
  return true, taken, 0
end
