--- Takes a place for a holder, if fewer than limit are taken.
---
--- The same holder again keeps its place, and its lease ends no sooner than before. A refused call writes nothing.
--- @use clock lease_set
--- @key    leases      zset[leases]        the holders, with the end of each lease
--- @arg    holder      text[64]            the holder, unique to one acquisition: fcall.NewToken in Go
--- @arg    limit       count[1..1000]      most places
--- @arg    lease       duration[1ms..1d]   how long the place is kept unless it is renewed or released
--- @result allowed     bool                whether the holder has a place now
--- @result taken       count               places that are taken after the call: 3
--- @result retry_after duration            wait until the first lease ends; 0 when allowed
local function acquire(leases, holder, limit, lease_us)
  local now_us = clock.now_us()
  local first, last = lease_set.open(now_us)
  local taken = redis.call('ZCOUNT', leases, first, last)
  if lease_set.ends_us(leases, holder, now_us) == 0 then
    if taken >= limit then
      local next = redis.call('ZRANGEBYSCORE', leases, first, last, 'WITHSCORES', 'LIMIT', '0', '1')
      return false, taken, math.max((tonumber(next[2]) or now_us) - now_us, 1)
    end
    taken = taken + 1
  end
  lease_set.clean(leases, now_us)
  redis.call('ZADD', leases, 'GT', clock.text(now_us + lease_us), holder)
  clock.extend(leases, lease_us)
  return true, taken, 0
end
