--- Adds an event to the current batch, once. A full batch is started, and the next one is the current one.
--- @use clock
--- @key    pointer  string[pointer]        the current batch
--- @key    items    list[items:<batch>]    events of the batch
--- @key    metadata hash[metadata:<batch>] 'status' of the batch, appending or started, and its 'bytes'
--- @key    seen     string[seen:<event>]   whether the event was added
--- @arg    batch    text[32]               the batch that the caller takes for the current one; a new id if it knows none
--- @arg    next     text[32]               a new id, for the batch behind this one
--- @arg    event    text[64]               the event's id
--- @arg    data     bytes[16384]           the event
--- @arg    limit    count[1..1000]         most events of a batch
--- @arg    most     count[1..10000000]     a batch of so many bytes is full
--- @arg    keep     duration[1m..30d]=10d  how long a batch is kept
--- @arg    remember duration[1s..1d]=30m   how long an event's id is remembered
--- @result outcome  enum(new,appended,full,maxsize,exists,moved) moved: call again with batch
--- @result batch    text[32]               the batch of the event, or the current one
--- @result length   count[0..1000]         events of the batch
--- @refused outcome exists moved
local function append(pointer, items, metadata, seen, batch, next, event, data, limit, most, keep_us, remember_us)
  local current = redis.call('GET', pointer) or batch
  if current ~= batch then
    return 'moved', current, 0
  end
  if not redis.call('SET', seen, '1', 'NX', 'PX', math.ceil(remember_us / 1000)) then
    return 'exists', batch, redis.call('LLEN', items)
  end
  redis.call('HSETNX', metadata, 'status', 'appending')
  local bytes = redis.call('HINCRBY', metadata, 'bytes', #data)
  local length = redis.call('RPUSH', items, data)
  clock.extend(metadata, keep_us)
  clock.extend(items, keep_us)
  if length >= limit or bytes >= most then
    redis.call('HSET', metadata, 'status', 'started')
    clock.store_for(pointer, next, keep_us)
    return bytes >= most and 'maxsize' or 'full', batch, length
  end
  clock.store_for(pointer, batch, keep_us)
  return length == 1 and 'new' or 'appended', batch, length
end
