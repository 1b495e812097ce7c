--- Stores the reply of the request's work. It is kept at least as long as the lease.
--- @use clock
--- @key    record      hash[record]         token, fingerprint and reply of the request, and how long it is kept
--- @arg    token       text[64]             the attempt that began
--- @arg    reply       text[0..65536]       what repeats get
--- @arg    keep        duration[1s..30d]=1d how long repeats get it
--- @result finished    bool                 false: the lease has ended, and another attempt may have begun; its reply counts
--- @refused finished
local function finish(record, token, reply, keep_us)
  local found = redis.call('HMGET', record, 'token', 'reply', 'kept_us')
  if found[1] ~= token then
    return false
  end
  if not found[2] then
    local kept_us = math.max(clock.parse_us(found[3] or '0') or 0, keep_us)
    redis.call('HSET', record, 'reply', reply, 'kept_us', clock.text(kept_us))
    clock.expire(record, kept_us)
  end
  return true
end
