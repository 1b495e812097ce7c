--- Adds a task to the queue, unless one of its id is there or another task has the lock of its digest.
--- @use clock
--- @key    tasks    hash[tasks] forever         '<id>:message', '<id>:state', '<id>:pending_since' and '<id>:digest' of each task
--- @key    pending  list[pending] forever       ids of tasks that wait, newest first
--- @key    unique   string[unique:<digest>]     the task that has the lock
--- @arg    id       text[64]                    the task, unique in the queue
--- @arg    digest   text[64]                    what is to be there once: a checksum of the task's type and payload
--- @arg    message  bytes[16384]                the encoded task
--- @arg    lock     duration[1s..30d]           how long no other task of the digest is queued, unless this one is done before
--- @result outcome  enum(queued,duplicate,conflict) duplicate: another task has the lock. conflict: a task of this id is there
--- @refused outcome duplicate conflict
local function enqueue_unique(tasks, pending, unique, id, digest, message, lock_us)
  if redis.call('HEXISTS', tasks, id .. ':message') == 1 then
    return 'conflict'
  end
  if not redis.call('SET', unique, id, 'NX', 'PX', math.ceil(lock_us / 1000)) then
    return 'duplicate'
  end
  redis.call('HSET', tasks, id .. ':message', message, id .. ':state', 'pending',
    id .. ':pending_since', clock.text(clock.now_us()), id .. ':digest', digest)
  redis.call('LPUSH', pending, id)
  return 'queued'
end
