--- Removes a task that a worker has done, with the lock that it may have, and counts it.
--- @use clock
--- @key    tasks     hash[tasks] forever        '<id>:message', '<id>:state' and '<id>:digest' of each task
--- @key    active    list[active] forever       ids of tasks that workers have
--- @key    lease     zset[lease] forever        the same ids, with the end of each lease
--- @key    processed string[processed:<day>]    tasks done on that day; kept for 90 days
--- @key    total     string[total] forever      tasks done
--- @key    unique    string[unique:<digest>]    the task that has the lock of the digest
--- @arg    id        text[64]                   the task
--- @arg    day       text[10]                   the day: 2026-01-02
--- @arg    digest    text[0..64]                the task's digest; empty if it has none
--- @result processed count                      tasks done on that day
--- @error  NOTFOUND                             no worker has the task
local function done(tasks, active, lease, processed, total, unique, id, day, digest)
  if not redis.call('LPOS', active, id, 'MAXLEN', 10000) or not redis.call('ZSCORE', lease, id) then
    return nil, {err = 'NOTFOUND no worker has the task'}
  end
  redis.call('LREM', active, 1, id)
  redis.call('ZREM', lease, id)
  redis.call('HDEL', tasks, id .. ':message', id .. ':state', id .. ':pending_since', id .. ':digest')
  local count = redis.call('INCR', processed)
  if count == 1 then
    clock.expire(processed, 90 * 86400 * 1000000)
  end
  if tonumber(redis.call('GET', total)) == 9007199254740991 then
    redis.call('SET', total, 1)
  else
    redis.call('INCR', total)
  end
  if digest ~= '' and redis.call('GET', unique) == id then
    redis.call('DEL', unique)
  end
  return count
end
