--- Leases in a sorted set: the holders, with the end of each lease.
---
--- A lease that ends more than two days ahead, twice the longest one, is from a wrong clock, and is over.
--- @use clock
--- @lib lease_set
--- @state lease_set 1 holders by the end of their lease in microseconds
local lease_set = {}

local most_ahead_us = 172800000000

-- Returns the bounds of the ends of leases that are not over, for a command.
function lease_set.open(now_us)
  return '(' .. clock.text(now_us), clock.text(now_us + most_ahead_us)
end

-- Returns when a holder's lease ends, 0 if it has none or it is over.
function lease_set.ends_us(leases, holder, now_us)
  local ends_us = tonumber(redis.call('ZSCORE', leases, holder)) or 0
  if ends_us <= now_us or ends_us - now_us > most_ahead_us then
    return 0
  end
  return ends_us
end

-- Removes the leases that are over.
function lease_set.clean(leases, now_us)
  redis.call('ZREMRANGEBYSCORE', leases, '-inf', clock.text(now_us))
  redis.call('ZREMRANGEBYSCORE', leases, '(' .. clock.text(now_us + most_ahead_us), '+inf')
end

return lease_set
