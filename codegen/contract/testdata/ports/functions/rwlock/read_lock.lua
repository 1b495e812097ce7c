--- Takes the lock to read, unless another owner writes.
--- @use clock
--- @key    lock        hash[lock]         'mode', and how often each owner holds it: 'read:<owner>' and 'write:<owner>'
--- @key    holds       zset[holds]        the holds of readers, '<owner>:<n>', with their end
--- @arg    owner       text[64]           the owner
--- @arg    lease       duration[1ms..1d]  how long it is held unless it is released
--- @result allowed     bool               whether the owner reads now
--- @result retry_after duration           what the lock has left; 0 when allowed
local function read_lock(lock, holds, owner, lease_us)
  local now_us = clock.now_us()
  local mode = redis.call('HGET', lock, 'mode')
  if not mode then
    redis.call('HSET', lock, 'mode', 'read', 'read:' .. owner, 1)
    redis.call('ZADD', holds, clock.text(now_us + lease_us), owner .. ':1')
    clock.expire(lock, lease_us)
    clock.extend(holds, lease_us)
    return true, 0
  end
  if mode == 'read' or redis.call('HEXISTS', lock, 'write:' .. owner) == 1 then
    local count = redis.call('HINCRBY', lock, 'read:' .. owner, 1)
    redis.call('ZADD', holds, clock.text(now_us + lease_us), owner .. ':' .. count)
    clock.extend(lock, lease_us)
    clock.extend(holds, lease_us)
    return true, 0
  end
  return false, clock.left_ms(lock) * 1000
end
