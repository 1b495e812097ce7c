--- Begins a session, and ends the oldest ones above the most that a user may have.
--- @use clock
--- @key    index    zset[index]          sessions, with the time of their last use
--- @key    data     hash[data]           data of the sessions
--- @arg    session  text[64]             the new session
--- @arg    user     bytes[4096]          its data
--- @arg    most     count[1..100]        most sessions of the user
--- @arg    idle     duration[1m..90d]    a session that is not used for so long is over
--- @arg    refuse   bool?                whether to refuse the login instead of ending another session
--- @result allowed  bool                 false: the user has as many sessions
--- @result sessions count[0..100]        the user's sessions
--- @result ended    list[0..100] of text[64] sessions that this login has ended
--- @records that sessions which were not used for idle are over
local function login(index, data, session, user, most, idle_us, refuse)
  local now_us = clock.now_us()
  local over = redis.call('ZRANGEBYSCORE', index, '-inf', now_us - idle_us, 'LIMIT', 0, 100)
  if #over > 0 then
    redis.call('ZREM', index, unpack(over))
    redis.call('HDEL', data, unpack(over))
  end
  local open = redis.call('ZCARD', index)
  local known = redis.call('ZSCORE', index, session)
  if refuse and not known and open >= most then
    return false, open, {}
  end
  redis.call('ZADD', index, now_us, session)
  redis.call('HSET', data, session, user)
  clock.extend(index, idle_us)
  clock.extend(data, idle_us)
  local surplus = redis.call('ZCARD', index) - most
  local ended = {}
  if surplus > 0 then
    local popped = redis.call('ZPOPMIN', index, math.min(surplus, 100))
    for i = 1, #popped, 2 do
      ended[#ended + 1] = popped[i]
      redis.call('HDEL', data, popped[i])
    end
  end
  return true, redis.call('ZCARD', index), ended
end
