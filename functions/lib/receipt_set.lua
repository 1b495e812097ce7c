--- Receipts that were counted, in a sorted set by time.
--- @use clock
--- @lib receipt_set
--- @state receipt_set 1 receipts by the time in microseconds when they were counted, half of one less when renewed
local receipt_set = {}

-- From 2112 on a microsecond is the least that a double tells apart.
local halves_end_us = 4503599627370496

-- Whether a receipt was seen less than known_us ago. One from further ahead than that is a broken clock's.
function receipt_set.knows(key, receipt, now_us, known_us)
  local seen_us = tonumber(redis.call('ZSCORE', key, receipt))
  return seen_us and seen_us > now_us - known_us and seen_us - now_us <= known_us or false
end

-- Adds a receipt that was counted, after those that are not known any more are gone.
function receipt_set.add(key, receipt, now_us, known_us, ttl_us)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now_us - known_us)
  redis.call('ZADD', key, clock.text(now_us), receipt)
  if ttl_us == known_us then
    clock.expire_after(key, known_us)
  else
    clock.expire(key, ttl_us)
  end
end

-- Adds a receipt among others that other calls may know for longer: those are kept for as long as the key lives.
function receipt_set.add_among(key, receipt, now_us, known_us)
  if clock.left_ms(key) <= math.ceil(known_us / 1000) then
    receipt_set.add(key, receipt, now_us, known_us, known_us)
  else
    redis.call('ZADD', key, clock.text(now_us), receipt) -- rlfunc:ignore missing-ttl the key lives longer than this call needs
  end
end

-- Renews a receipt. Half a microsecond less than the time tells that it is not that of the admission, and changes no
-- comparison with a whole one.
function receipt_set.renew(key, receipt, now_us, ttl_us)
  if now_us < halves_end_us then
    redis.call('ZADD', key, string.format('%.1f', now_us - 0.5), receipt)
  else
    redis.call('ZADD', key, now_us, receipt)
  end
  clock.expire(key, ttl_us)
end

-- When a receipt was counted; nil when it is not known, or was renewed since.
function receipt_set.admitted_us(key, receipt)
  local seen = redis.call('ZSCORE', key, receipt)
  if seen then
    return clock.parse_us(seen)
  end
  return nil
end

-- Forgets a receipt, as if it had not been counted.
function receipt_set.forget(key, receipt)
  redis.call('ZREM', key, receipt)
end

return receipt_set
