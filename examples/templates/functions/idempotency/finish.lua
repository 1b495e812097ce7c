--- Stores the reply of the request's work. It is kept at least as long as the lease.
--- @use clock
--- @key    record      hash[record]         token, fingerprint and reply of the request
--- @arg    token       text[64]             the attempt that began
--- @arg    reply       text[0..65536]       what repeats get
--- @arg    keep        duration[1s..30d]=1d how long repeats get it
--- @result finished    bool                 false: the lease has ended, and another attempt may have begun; its reply counts
--- @refused finished
local function finish(record, token, reply, keep_us)
  local found = redis.call('HMGET', record, 'token', 'reply')
  if found[1] ~= token then
    return false
  end
  if not found[2] then
    redis.call('HSET', record, 'reply', reply)
    clock.extend(record, keep_us)
  end
  return true
end
