--- Holders that release has marked, in a sorted set by the time when they are forgotten.
--- @use clock
--- @lib left_holders
--- @state left 1 holders by the time in microseconds when they may be forgotten
local left_holders = {}

-- A call forgets at most this many.
local max_dropped = 100

function left_holders.has(key, holder)
  return redis.call('ZSCORE', key, holder) ~= false
end

-- Marks a holder for mark_us, after forgetting some others.
function left_holders.add(key, holder, now_us, mark_us)
  local gone = redis.call('ZCOUNT', key, '0', now_us)
  if gone > 0 then
    redis.call('ZREMRANGEBYRANK', key, '0', math.min(gone, max_dropped) - 1)
  end
  redis.call('ZADD', key, string.format('%.0f', now_us + mark_us), holder)
  clock.extend(key, mark_us)
end

return left_holders
