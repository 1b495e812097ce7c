--- Returns what sliding_log would return for a request without a receipt, and writes nothing.
--- @use clock window_log
--- @flags  no-writes
--- @key    bucket      list[log]           the subject's admissions, oldest first
--- @arg    limit       count[1..1000000]   most admissions in a window
--- @arg    window      duration[1us..3650d] length of the window
--- @result allowed     bool                whether a request would pass now
--- @result count       count[0..1000001]   admissions inside the window now; at most one more than the highest limit of the bucket's callers
--- @result remaining   count[0..1000000]   admissions left in the window: 7 when 3 of 10 are used; 0 when full
--- @result reset_after duration            wait until the window is empty; 0 when empty
--- @result retry_after duration            wait until a request passes, exact to the microsecond; 0 when allowed
--- @error  RLSTATE                         the log holds an entry that is not a time
local function sliding_log_peek(bucket, limit, window_us)
  local allowed, left, reset_us, wait_us, count = window_log.check(bucket, limit, window_us, 1, clock.now_us())
  if allowed == nil then
    return nil, left
  end
  return allowed, count, left, reset_us, wait_us
end
