--- Extends a holder's lease, if it has not ended. A shorter lease than it has left changes nothing.
--- @use clock lease_set
--- @key    leases        zset[leases]       the holders, with the end of each lease
--- @arg    holder        text[64]           the holder
--- @arg    lease         duration[1ms..1d]  how long the place is kept from now on
--- @result renewed       bool               false: released, or the lease has ended
--- @result expires_after duration           what the lease has left now: 30s; 0 when not renewed
--- @refused renewed
local function renew(leases, holder, lease_us)
  local now_us = clock.now_us()
  local ends_us = lease_set.ends_us(leases, holder, now_us)
  if ends_us == 0 then
    return false, 0
  end
  if now_us + lease_us > ends_us then
    ends_us = now_us + lease_us
    redis.call('ZADD', leases, clock.text(ends_us), holder)
    clock.extend(leases, lease_us)
  end
  return true, ends_us - now_us
end
