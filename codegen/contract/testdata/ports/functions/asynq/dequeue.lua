--- Hands the oldest task to a worker, unless the queue is paused.
--- @use clock
--- @key    tasks    hash[tasks] forever     '<id>:message' and '<id>:state' of each task
--- @key    pending  list[pending] forever   ids of tasks that wait, newest first
--- @key    active   list[active] forever    ids of tasks that workers have
--- @key    lease    zset[lease] forever     the same ids, with the end of each lease
--- @key    paused   string[paused] forever  while it is there, no task is handed out
--- @arg    hold     duration[1s..1d]=30s    length of the lease
--- @result found    bool                    whether there is a task
--- @result id       text[0..64]             the task
--- @result message  bytes[16384]            the encoded task
--- @result expires  time                    when the lease ends
local function dequeue(tasks, pending, active, lease, paused, hold_us)
  if redis.call('EXISTS', paused) == 1 then
    return false, '', '', 0
  end
  local id = redis.call('RPOPLPUSH', pending, active)
  if not id then
    return false, '', '', 0
  end
  local ends_us = clock.now_us() + hold_us
  redis.call('HSET', tasks, id .. ':state', 'active')
  redis.call('HDEL', tasks, id .. ':pending_since')
  redis.call('ZADD', lease, clock.text(ends_us), id)
  return true, id, redis.call('HGET', tasks, id .. ':message') or '', ends_us
end
