--- Releases a holder's place.
--- @use clock
--- @key    leases      zset[leases]  the holders, with the end of each lease
--- @arg    holder      text[64]      the holder
--- @result released    bool          false: released before, or the lease has ended
--- @refused released
local function release(leases, holder)
  local ends_us = tonumber(redis.call('ZSCORE', leases, holder)) or 0
  if ends_us <= clock.now_us() then
    return false
  end
  redis.call('ZREM', leases, holder)
  return true
end
