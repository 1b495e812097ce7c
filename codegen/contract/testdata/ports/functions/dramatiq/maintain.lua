--- Gives the messages of a dead worker back, and removes failed messages that are too old.
---
--- A call does at most 1,000 of each; call again while more is true.
--- @use clock
--- @key    heartbeats zset[heartbeats] forever  workers, with the time of their last call
--- @key    queue      list[queue] forever       ids of messages that wait, oldest first
--- @key    messages   hash[messages] forever    messages by id
--- @key    acks       set[acks:<worker>] forever ids of messages that the worker has
--- @key    dead       zset[dead] forever        ids of failed messages, with the time of it
--- @key    dead_messages hash[dead_messages] forever failed messages by id
--- @arg    worker     text[64]                  the worker that seems to be dead
--- @arg    silence    duration[1s..1d]=1m       a worker that has not called for so long is dead
--- @arg    keep       duration[1m..30d]=7d      how long failed messages are kept
--- @result returned   count[0..1000]            messages that wait again
--- @result removed    count[0..1000]            failed messages that are gone
--- @result more       bool                      whether there may be more of either
local function maintain(heartbeats, queue, messages, acks, dead, dead_messages, worker, silence_us, keep_us)
  local now_us = clock.now_us()
  local last_us = tonumber(redis.call('ZSCORE', heartbeats, worker))
  local returned, popped = 0, 0
  if last_us and last_us <= now_us - silence_us then
    local ids = redis.call('SPOP', acks, 1000)
    popped = #ids
    for i = 1, #ids do
      if redis.call('HEXISTS', messages, ids[i]) == 1 then
        redis.call('RPUSH', queue, ids[i])
        returned = returned + 1
      end
    end
    if redis.call('SCARD', acks) == 0 then
      redis.call('ZREM', heartbeats, worker)
    end
  end
  local old = redis.call('ZRANGEBYSCORE', dead, 0, now_us - keep_us, 'LIMIT', 0, 1000)
  if #old > 0 then
    redis.call('ZREM', dead, unpack(old))
    redis.call('HDEL', dead_messages, unpack(old))
  end
  return returned, #old, popped == 1000 or #old == 1000
end
