--- Ends a session, or all sessions but it.
--- @key    index    zset[index]  sessions, with the time of their last use
--- @key    data     hash[data]   data of the sessions
--- @arg    session  text[64]     the session
--- @arg    others   bool?        whether to end all others, and keep it
--- @result ended    count        sessions that have ended
local function logout(index, data, session, others)
  if not others then
    redis.call('HDEL', data, session)
    return redis.call('ZREM', index, session)
  end
  local all = redis.call('ZRANGE', index, 0, 99)
  local ended = 0
  for i = 1, #all do
    if all[i] ~= session then
      redis.call('HDEL', data, all[i])
      ended = ended + redis.call('ZREM', index, all[i])
    end
  end
  return ended
end
