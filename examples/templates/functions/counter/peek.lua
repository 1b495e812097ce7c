--- Returns the count and the total; writes nothing.
--- @use clock
--- @flags  no-writes
--- @key    window      string[window]          the count; it expires with the window
--- @key    total       string[total] forever   the total
--- @result count       count                   the window's count: 7; 0 without one
--- @result reset_after duration                until the window ends, to the millisecond; 0 without one
--- @result total       int                     the total: -3
local function peek(window, total)
  local count, all = tonumber(redis.call('GET', window) or '0'), tonumber(redis.call('GET', total) or '0')
  return count or 0, math.max(clock.left_ms(window), 0) * 1000, all or 0
end
