--- Gives up one hold of the writer. If it reads, too, it goes on as a reader.
--- @use clock
--- @key    lock     hash[lock]         'mode', and how often each owner holds it: 'read:<owner>' and 'write:<owner>'
--- @arg    owner    text[64]           the owner
--- @arg    lease    duration[1ms..1d]  how long what is left is held, at least
--- @result outcome  enum(free,held,reads,none) none: the owner does not write
--- @refused outcome none
local function write_unlock(lock, owner, lease_us)
  if redis.call('HEXISTS', lock, 'write:' .. owner) == 0 then
    return 'none'
  end
  local count = redis.call('HINCRBY', lock, 'write:' .. owner, -1)
  if count > 0 then
    clock.extend(lock, lease_us)
    return 'held'
  end
  redis.call('HDEL', lock, 'write:' .. owner)
  if redis.call('HLEN', lock) == 1 then
    redis.call('DEL', lock)
    return 'free'
  end
  redis.call('HSET', lock, 'mode', 'read')
  return 'reads'
end
