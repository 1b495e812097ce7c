--- Adds a task to the queue, unless one of its id is there.
--- @use clock
--- @key    tasks    hash[tasks] forever    '<id>:message', '<id>:state' and '<id>:pending_since' of each task
--- @key    pending  list[pending] forever  ids of tasks that wait, newest first
--- @arg    id       text[64]               the task, unique in the queue
--- @arg    message  bytes[16384]           the encoded task
--- @result queued   bool                   false: a task of this id is there already
--- @refused queued
local function enqueue(tasks, pending, id, message)
  if redis.call('HEXISTS', tasks, id .. ':message') == 1 then
    return false
  end
  redis.call('HSET', tasks, id .. ':message', message, id .. ':state', 'pending', id .. ':pending_since', clock.text(clock.now_us()))
  redis.call('LPUSH', pending, id)
  return true
end
