--- Releases a holder's place.
--- @use clock lease_set
--- @key    leases      zset[leases]  the holders, with the end of each lease
--- @arg    holder      text[64]      the holder
--- @result released    bool          false: released before, or the lease has ended
--- @refused released
local function release(leases, holder)
  if lease_set.ends_us(leases, holder, clock.now_us()) == 0 then
    return false
  end
  redis.call('ZREM', leases, holder)
  return true
end
