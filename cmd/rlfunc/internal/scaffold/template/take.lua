--- Charges a quota that is full again when its period ends.
---
--- The period begins with the first charge. A refused call writes nothing. If the clock is set back, the period lasts that much
--- longer; if it then has more than twice its length left, it is over.
--- @use clock refusal
--- @key    bucket      string[used]         the amount used; it expires with the period
--- @state  used        1                    the period in milliseconds, and the sum of charged costs: '60000 3'
--- @arg    limit       count[1..1000000]    most charged in a period
--- @arg    period      duration[1ms..366d]  from the first charge until the quota is full again
--- @arg    cost        count[0..1000000]=1  amount to charge; 0 charges nothing
--- @must   cost <= limit: it can never be allowed
--- @result allowed     bool                 whether cost was charged
--- @result remaining   count                capacity left after the call: 7 of 10 after a cost of 3
--- @result retry_after duration             wait until the quota is full again, to the millisecond; 0 when allowed
--- @error  RLARG                            cost exceeds limit: it could never be allowed
--- @error  RLSTATE                          the key holds no count
local function take(bucket, limit, period_us, cost)
  local used, period_ms = 0, math.ceil(period_us / 1000)
  local left_ms = period_ms
  local stored = redis.call('GET', bucket)
  if stored then
    local stored_ms = tonumber(string.match(stored, '^(%d+) %d+$') or '')
    local stored_used = tonumber(string.match(stored, ' (%d+)$') or '')
    if not stored_ms or not stored_used then
      return nil, refusal.state(bucket, 'holds no count')
    end
    local stored_left_ms = math.max(clock.left_ms(bucket), 1)
    if stored_left_ms <= 2 * stored_ms then -- else a wrong clock stored it
      used = stored_used
      period_ms = stored_ms
      left_ms = stored_left_ms
    end
  end
  if used + cost > limit then
    return false, math.max(limit - used, 0), left_ms * 1000
  end
  if cost > 0 then
    clock.store(bucket, string.format('%.0f %.0f', period_ms, used + cost), left_ms)
  end
  return true, limit - used - cost, 0
end
