--- Returns the count and the total; writes nothing.
--- @use window_count
--- @flags  no-writes
--- @key    window      string[window]          the count; it expires with the window
--- @key    total       string[total] forever   the total
--- @result count       count                   the window's count: 7; 0 without one
--- @result reset_after duration                until the window ends, to the millisecond; 0 without one
--- @result total       int                     the total: -3
--- @error  RLSTATE                                 the window's key holds no count
local function peek(window, total)
  local count, left_ms = window_count.read(window)
  if not count then
    return nil, left_ms
  end
  return count, left_ms * 1000, tonumber(redis.call('GET', total) or '0') or 0
end
