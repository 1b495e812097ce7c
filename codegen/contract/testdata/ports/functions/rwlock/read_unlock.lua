--- Gives up one hold of a reader. The lock lasts as long as the longest hold that is left, and a writer's as long as it was.
--- @use clock
--- @key    lock     hash[lock]   'mode', and how often each owner holds it: 'read:<owner>' and 'write:<owner>'
--- @key    holds    zset[holds]  the holds of readers, '<owner>:<n>', with their end
--- @arg    owner    text[64]     the owner
--- @result outcome  enum(free,held,none) free: nobody has the lock now. none: the owner does not read
--- @refused outcome none
local function read_unlock(lock, holds, owner)
  local mode = redis.call('HGET', lock, 'mode')
  if not mode or redis.call('HEXISTS', lock, 'read:' .. owner) == 0 then
    return 'none'
  end
  local count = redis.call('HINCRBY', lock, 'read:' .. owner, -1)
  if count <= 0 then
    redis.call('HDEL', lock, 'read:' .. owner)
  end
  redis.call('ZREM', holds, owner .. ':' .. (count + 1))
  if mode == 'write' then
    return 'held'
  end
  if redis.call('HLEN', lock) > 1 then
    local last = redis.call('ZREVRANGE', holds, 0, 0, 'WITHSCORES')
    local left_us = (tonumber(last[2]) or 0) - clock.now_us()
    if left_us > 0 then
      clock.expire(lock, left_us)
      return 'held'
    end
  end
  redis.call('DEL', lock, holds)
  return 'free'
end
