--- Takes the lock to write, unless another owner has it.
--- @use clock
--- @key    lock        hash[lock]         'mode', and how often each owner holds it: 'read:<owner>' and 'write:<owner>'
--- @arg    owner       text[64]           the owner
--- @arg    lease       duration[1ms..1d]  how long it is held unless it is released; a further hold adds to what is left
--- @result allowed     bool               whether the owner writes now
--- @result retry_after duration           what the lock has left; 0 when allowed
local function write_lock(lock, owner, lease_us)
  local mode = redis.call('HGET', lock, 'mode')
  if not mode then
    redis.call('HSET', lock, 'mode', 'write', 'write:' .. owner, 1)
    clock.expire(lock, lease_us)
    return true, 0
  end
  local left_us = clock.left_ms(lock) * 1000
  if mode == 'write' and redis.call('HEXISTS', lock, 'write:' .. owner) == 1 then
    redis.call('HINCRBY', lock, 'write:' .. owner, 1)
    clock.expire(lock, left_us + lease_us)
    return true, 0
  end
  return false, left_us
end
