--- Enqueues a message, or ends what a worker has fetched: done, failed or given back.
--- @use clock
--- @key    heartbeats zset[heartbeats] forever  workers, with the time of their last call
--- @key    queue      list[queue] forever       ids of messages that wait, oldest first
--- @key    messages   hash[messages] forever    messages by id
--- @key    acks       set[acks:<worker>] forever ids of messages that the worker has
--- @key    dead       zset[dead] forever        ids of failed messages, with the time of it
--- @key    dead_messages hash[dead_messages] forever failed messages by id
--- @arg    command    enum(enqueue,ack,nack,requeue) what to do
--- @arg    worker     text[64]                  who does it
--- @arg    id         text[64]                  the message
--- @arg    message    bytes[1..16384]?          the message's data, to enqueue it
--- @result changed    bool                      false: the worker does not have the message
--- @result size       count                     messages that wait or that the worker has
local function dispatch(heartbeats, queue, messages, acks, dead, dead_messages, command, worker, id, message)
  local now_us = clock.now_us()
  local changed = true
  redis.call('ZADD', heartbeats, now_us, worker)
  if command == 'enqueue' then
    redis.call('HSET', messages, id, message or '')
    redis.call('RPUSH', queue, id)
  elseif redis.call('SREM', acks, id) == 0 then
    changed = false
  elseif command == 'ack' then
    redis.call('HDEL', messages, id)
  elseif command == 'nack' then
    local failed = redis.call('HGET', messages, id)
    if failed then
      redis.call('ZADD', dead, now_us, id)
      redis.call('HSET', dead_messages, id, failed)
      redis.call('HDEL', messages, id)
    end
  elseif redis.call('HEXISTS', messages, id) == 1 then
    redis.call('RPUSH', queue, id)
  end
  return changed, redis.call('HLEN', messages) + redis.call('SCARD', acks)
end
