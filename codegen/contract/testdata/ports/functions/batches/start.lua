--- Starts a batch whose time is over, so that no further event is added to it.
--- @use clock
--- @key    pointer  string[pointer]        the current batch
--- @key    metadata hash[metadata:<batch>] 'status' of the batch, appending or started
--- @arg    batch    text[32]               the batch
--- @arg    next     text[32]               a new id, for the batch behind this one
--- @arg    keep     duration[1m..30d]=10d  how long the next batch is expected
--- @result outcome  enum(started,already,absent) absent: there is no such batch
--- @refused outcome already absent
local function start(pointer, metadata, batch, next, keep_us)
  local status = redis.call('HGET', metadata, 'status')
  if not status then
    return 'absent'
  end
  if status == 'started' then
    return 'already'
  end
  local current = redis.call('GET', pointer)
  if not current or current == batch then
    clock.store_for(pointer, next, keep_us)
  end
  redis.call('HSET', metadata, 'status', 'started')
  return 'started'
end
