--- Renews a session and returns its data.
--- @use clock
--- @key    index    zset[index]          sessions, with the time of their last use
--- @key    data     hash[data]           data of the sessions
--- @arg    session  text[64]             the session
--- @arg    idle     duration[1m..90d]    a session that is not used for so long is over
--- @result valid    bool                 false: log in again
--- @result user     bytes[4096]          its data
--- @refused valid
local function touch(index, data, session, idle_us)
  local now_us = clock.now_us()
  local used_us = tonumber(redis.call('ZSCORE', index, session))
  local user = redis.call('HGET', data, session)
  if not used_us or not user or used_us <= now_us - idle_us then
    return false, ''
  end
  redis.call('ZADD', index, 'XX', now_us, session)
  clock.extend(index, idle_us)
  clock.extend(data, idle_us)
  return true, user
end
