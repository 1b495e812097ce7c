--- The count of a window in one string: '60000 7' after 7 in a window of a minute. The key expires with the window.
--- @use clock refusal
--- @lib window_count
--- @state window_count 1 the window's length in milliseconds, and its count
local window_count = {}

-- Returns the count, the milliseconds until the window ends, and its length; 0, 0 and 0 without a window. Or nil and a refusal. A
-- window with more than twice its length left is from a wrong clock, and is over.
function window_count.read(window)
  local stored = redis.call('GET', window)
  if not stored then
    return 0, 0, 0
  end
  local length_ms = tonumber(string.match(stored, '^(%d+) %d+$') or '')
  local count = tonumber(string.match(stored, ' (%d+)$') or '')
  if not length_ms or not count or count > 9000000000000000 then
    return nil, refusal.state(window, 'holds no count')
  end
  local left_ms = math.max(clock.left_ms(window), 1)
  if left_ms > 2 * length_ms then
    return 0, 0, 0
  end
  return count, left_ms, length_ms
end

-- Stores the count of a window.
function window_count.store(window, count, left_ms, length_ms)
  clock.store(window, string.format('%.0f %.0f', length_ms, count), left_ms)
end

return window_count
