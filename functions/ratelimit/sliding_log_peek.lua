--- Tells what sliding_log would answer to a request without a receipt, and changes nothing.
--- @use clock window_log
--- @flags  no-writes
--- @key    bucket      list[log]           the subject's admissions, oldest first
--- @arg    limit       count[1..1000000]   most admissions in a window
--- @arg    window      duration[1us..3650d] length of the window
--- @result allowed     bool                whether a request would pass now
--- @result count       count               admissions inside the window now
--- @result remaining   count               admissions left in the window: 7 when 3 of 10 are used; 0 when full
--- @result retry_after duration            wait until a request passes, exact to the microsecond; 0 when allowed
--- @result reset_after duration            wait until the window is empty; 0 when empty
--- @error  RLSTATE                         the log holds an entry that is not a time
local function sliding_log_peek(bucket, limit, window_us)
  local clock_us = clock.now_us()
  local log, failure = window_log.read(bucket, window_us, clock_us)
  if not log then
    return nil, failure
  end
  local wait_us, unreadable = window_log.wait_us(bucket, log, limit, window_us, clock_us)
  if not wait_us then
    return nil, unreadable
  end
  local reset_us = 0
  if log.count > 0 then
    reset_us = log.newest_us + window_us - clock_us
  end
  return wait_us == 0, log.count, math.max(limit - log.count, 0), wait_us, reset_us
end
