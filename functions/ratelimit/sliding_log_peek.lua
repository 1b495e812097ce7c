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
  local clock_us = clock.now_us()
  local now_us, count, newest_us, oldest_us = window_log.read(bucket, window_us, clock_us)
  if not now_us then
    return nil, count
  end
  if count == 0 then
    return true, 0, limit, 0, 0
  end
  local reset_us = newest_us + window_us - clock_us
  if count < limit then
    return true, count, limit - count, reset_us, 0
  end
  local room_us, unreadable = window_log.room_us(bucket, limit, window_us, count, oldest_us)
  if not room_us then
    return nil, unreadable
  end
  return false, count, 0, reset_us, room_us - clock_us
end
