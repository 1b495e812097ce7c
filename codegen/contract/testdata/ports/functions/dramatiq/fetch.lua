--- Hands a worker the oldest messages, and names a worker that seems to be dead.
--- @use clock
--- @key    heartbeats zset[heartbeats] forever  workers, with the time of their last call
--- @key    queue      list[queue] forever       ids of messages that wait, oldest first
--- @key    messages   hash[messages] forever    messages by id
--- @key    acks       set[acks:<worker>] forever ids of messages that the worker has
--- @arg    worker     text[64]                  the worker
--- @arg    prefetch   count[1..100]             most messages
--- @arg    silence    duration[1s..1d]=1m       a worker that has not called for so long is dead
--- @result messages   group[0..100]             the messages, oldest first
--- @result messages.id text[64]                 its id
--- @result messages.data bytes[16384]           its data
--- @result dead       text[0..64]               a dead worker for maintain; empty if there is none
local function fetch(heartbeats, queue, messages, acks, worker, prefetch, silence_us)
  local now_us = clock.now_us()
  redis.call('ZADD', heartbeats, now_us, worker)
  local late = redis.call('ZRANGEBYSCORE', heartbeats, 0, now_us - silence_us, 'LIMIT', 0, 1)
  local ids = redis.call('LPOP', queue, prefetch) or {}
  local rows = {}
  if #ids > 0 then
    redis.call('SADD', acks, unpack(ids))
    local found = redis.call('HMGET', messages, unpack(ids))
    for i = 1, #ids do
      if found[i] then
        rows[#rows + 1] = {id = ids[i], data = found[i]}
      end
    end
  end
  return rows, late[1] or ''
end
