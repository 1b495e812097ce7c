--- Counts in a window, which begins with the first call after the last one ended.
--- @use clock refusal
--- @key    window      string[window]        the count; it expires with the window
--- @arg    length      duration[1ms..366d]   how long the window is, if this call begins one
--- @arg    by          count[1..1000000]=1   what to add
--- @result count       count                 the window's count after the call: 7
--- @result reset_after duration              until the window ends, to the millisecond
--- @error  RLSTATE                           the key holds no count
local function hit(window, length_us, by)
  local stored = redis.call('GET', window)
  local count, ttl_ms = by, math.ceil(length_us / 1000)
  if stored then
    local before = tonumber(stored)
    if not before or before < 0 or before > 9000000000000000 then
      return nil, refusal.state(window, 'holds no count')
    end
    count = before + by
    ttl_ms = math.max(clock.left_ms(window), 1)
  end
  clock.store(window, count, ttl_ms)
  return count, ttl_ms * 1000
end
