--- Finds a position in a log of times, whose first element, at 0, is the retention.
--- @use clock
--- @lib window_log_search
local window_log_search = {}

-- Returns the first position in [low, high] whose time is later than horizon_us, and that time. The times ascend, and the last
-- one, high_us, is later. It gallops by 1, 2, 4, ... from low, or from high if `down` is set, because most matches are near; then
-- it bisects.
function window_log_search.first_after(key, horizon_us, low, high, high_us, down)
  local reach, galloping = 1, true
  while low < high do
    local probe = math.floor((low + high) / 2)
    if galloping and down then
      probe = math.max(high - reach, low)
    elseif galloping then
      probe = math.min(low + reach - 1, high - 1)
    end
    local entry_us = clock.parse_us(redis.call('LINDEX', key, probe))
    if not entry_us then
      return nil
    end
    if entry_us > horizon_us then
      high = probe
      high_us = entry_us
      galloping = galloping and down
    else
      low = probe + 1
      galloping = galloping and not down
    end
    reach = reach * 2
  end
  return low, high_us
end

return window_log_search
