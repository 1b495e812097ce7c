--- Postpones a job that waits: it is due when delay has passed from now, or at a time, and no sooner than before.
---
--- A refused call writes nothing.
--- @use clock
--- @key    due         zset[due] forever         ids of jobs by the time when they are due
--- @arg    id          text[64]                  the job
--- @arg    delay       duration[0us..366d]       wait until it is due
--- @arg    at          time?                     when it is due, in place of delay; at most 366 days from now
--- @result postponed   bool                      false: the job does not wait
--- @result due_after   duration                  wait until it is due; 0 when refused, or if it is due
--- @result moved       duration                  how much later that is than before
--- @refused postponed
local function postpone(due, id, delay_us, at_us)
  local now_us = clock.now_us()
  local due_us = tonumber(redis.call('ZSCORE', due, id))
  if not due_us then
    return false, 0, 0
  end
  local wanted_us = now_us + delay_us
  if at_us then
    wanted_us = math.min(at_us, now_us + 366 * 86400000000)
  end
  local after_us = math.max(due_us, wanted_us)
  if after_us > due_us then
    redis.call('ZADD', due, 'NX', clock.text(after_us), id)
  end
  return true, math.max(after_us - now_us, 0), after_us - due_us
end
