--- Adds a publication, once for each idempotency key.
--- @use clock
--- @key    stream      stream[stream]            the newest publications; an entry's id is its offset
--- @key    meta        hash[meta]                the epoch 'e' and the newest offset 's'
--- @key    result      hash[result:<once>]       the answer to an earlier call with the same idempotency key
--- @arg    payload     bytes[16384]              the publication
--- @arg    size        count[1..1000]            most publications that are kept
--- @arg    ttl         duration[1s..30d]         how long they are kept without a further one
--- @arg    meta_ttl    duration[1s..365d]        how long epoch and offset are kept
--- @arg    fresh_epoch text[32]                  the epoch, if a new one begins
--- @arg    once        text[0..64]               idempotency key; empty for none
--- @arg    once_ttl    duration[1s..1d]=5m       how long it is remembered
--- @arg    delta       bool?                     whether to answer with the publication before
--- @result cached      bool                      whether this is the answer of an earlier call
--- @result offset      count                     the publication's offset
--- @result epoch       text[32]                  its epoch
--- @result previous    bytes[16384]?             the publication before
local function add(stream, meta, result, payload, size, ttl_us, meta_ttl_us, fresh_epoch, once, once_ttl_us, delta)
  if once ~= '' then
    local known = redis.call('HMGET', result, 'e', 's')
    local epoch, offset = known[1], tonumber(known[2])
    if epoch and offset then
      return true, offset, epoch, nil
    end
  end
  local epoch = redis.call('HGET', meta, 'e')
  if not epoch then
    epoch = fresh_epoch
    redis.call('DEL', stream)
    redis.call('HSET', meta, 'e', epoch)
  end
  local offset = redis.call('HINCRBY', meta, 's', 1)
  clock.extend(meta, meta_ttl_us)
  local previous
  if delta then
    local last = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)
    if #last > 0 then
      previous = last[1][2][2]
    end
  end
  redis.call('XADD', stream, 'MAXLEN', size, offset, 'd', payload)
  clock.extend(stream, ttl_us)
  if once ~= '' then
    redis.call('HSET', result, 'e', epoch, 's', offset)
    clock.expire(result, once_ttl_us)
  end
  return false, offset, epoch, previous
end
