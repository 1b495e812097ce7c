--- Keeps a value that a device has measured. A device repeats what was not acknowledged: a repeat is known by its time.
---
--- A value that is older than the last one is refused, and nothing is written.
--- @use clock
--- @subject the device
--- @key    values      list[values]               the last 60 values, newest first, each '<value>@<time in microseconds>'
--- @arg    value       int[-1000000..1000000]     the value, in thousandths
--- @arg    at          time[1..]                  when the device measured it
--- @result outcome     enum(kept,repeated,late)   repeated: this value is the last one. late: a newer one is known
--- @result values      count[0..60]               values that are kept
--- @result rise        int[-2000000..2000000]     how much more it is than the value before; 0 for the first, or unless kept
--- @refused outcome late
local function report(values, value, at_us)
  local newest = redis.call('LINDEX', values, 0)
  local rise = 0
  if newest then
    local old, last = string.match(newest, '^(-?%d+)@(.+)$')
    local last_us = tonumber(last) or 0
    if at_us == last_us then
      return 'repeated', redis.call('LLEN', values), 0
    elseif at_us < last_us then
      return 'late', redis.call('LLEN', values), 0
    end
    rise = value - math.max(math.min(tonumber(old) or value, 1000000), -1000000)
  end
  redis.call('LPUSH', values, value .. '@' .. at_us)
  redis.call('LTRIM', values, 0, 59)
  clock.expire_after(values, 86400000000)
  return 'kept', redis.call('LLEN', values), rise
end
