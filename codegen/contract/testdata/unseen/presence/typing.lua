--- Says that a user is typing, or has stopped.
---
--- Says so no longer than for span of the last call, because clients vanish. started tells whether others should be told. At most 100
--- users of a room are known to type.
--- @use clock
--- @subject the room
--- @key    typists     zset[typists]           users who type, by the time when they count as having stopped
--- @arg    user        text[64]                who is typing
--- @arg    is_typing   bool                    whether the user is typing
--- @arg    span        duration[1s..1m]=8s     how long a user counts as typing
--- @result started     bool                    whether the user was not typing before
--- @result stopped     bool                    whether the user was typing before and has stopped
--- @result typists     count[0..100]           users who type after the call
local function typing(typists, user, is_typing, span_us)
  local now_us = clock.now_us()
  local others = redis.call('ZCOUNT', typists, string.format('(%.0f', now_us), '+inf')
  local was_typing = (tonumber(redis.call('ZSCORE', typists, user)) or 0) > now_us
  if was_typing then
    others = others - 1
  end
  if not is_typing then
    redis.call('ZREM', typists, user)
    return false, was_typing, math.min(others, 100)
  end
  if others >= 100 then
    return false, false, 100
  end
  redis.call('ZREMRANGEBYSCORE', typists, '-inf', clock.text(now_us))
  redis.call('ZADD', typists, clock.text(now_us + span_us), user)
  clock.extend(typists, span_us)
  return not was_typing, false, others + 1
end
