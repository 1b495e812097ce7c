--- Counts in a window, which begins with the first call after the last one ended.
---
--- If the clock is set back, the window lasts that much longer; if it then has more than twice its length left, a new one begins.
--- @use window_count
--- @key    window      string[window]        the count; it expires with the window
--- @arg    length      duration[1ms..366d]   how long the window is, if this call begins one
--- @arg    by          count[1..1000000]=1   what to add
--- @result count       count                 the window's count after the call: 7
--- @result reset_after duration              until the window ends, to the millisecond
--- @error  RLSTATE                           the key holds no count
local function hit(window, length_us, by)
  local count, left_ms, length_ms = window_count.read(window)
  if not count then
    return nil, left_ms
  end
  if left_ms == 0 then
    length_ms = math.ceil(length_us / 1000)
    left_ms = length_ms
  end
  window_count.store(window, count + by, left_ms, length_ms)
  return count + by, left_ms * 1000
end
