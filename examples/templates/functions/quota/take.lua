--- Charges a quota that is full again when its period ends.
---
--- The period begins with the first charge. A refused call writes nothing.
--- @use clock refusal
--- @key    bucket      string[used]         the amount used; it expires with the period
--- @state  used        1                    the sum of charged costs, a whole number
--- @arg    limit       count[1..1000000]    most charged in a period
--- @arg    period      duration[1ms..366d]  from the first charge until the quota is full again
--- @arg    cost        count[0..1000000]=1  amount to charge; 0 charges nothing
--- @result allowed     bool                 whether cost was charged
--- @result remaining   count                capacity left after the call: 7 of 10 after a cost of 3
--- @result retry_after duration             wait until the quota is full again, to the millisecond; 0 when allowed
--- @error  RLARG                            cost exceeds limit: it could never be allowed
--- @error  RLSTATE                          the key holds no count
local function take(bucket, limit, period_us, cost)
  if cost > limit then
    return nil, refusal.argument('cost must be at most limit: it can never be allowed')
  end
  local stored = redis.call('GET', bucket)
  local used = 0
  local ttl_ms = math.ceil(period_us / 1000)
  if stored then
    local count = tonumber(stored)
    if not count then
      return nil, refusal.state(bucket, 'holds no count')
    end
    used = count
    ttl_ms = math.max(clock.left_ms(bucket), 1)
  end
  if used + cost > limit then
    return false, math.max(limit - used, 0), ttl_ms * 1000
  end
  if cost > 0 then
    clock.store(bucket, used + cost, ttl_ms)
  end
  return true, limit - used - cost, 0
end
