--- Finds a place in a log of times, which is behind the need that stands at 0.
--- @use clock
--- @lib log_search
local log_search = {}

-- The first place in [low, high] whose time is later than horizon_us, and that time; the times ascend, and the last one,
-- high_us, is later. It looks at steps of 1, 2, 4, ... up from low, or where `down` is set down from high, as most that it
-- looks for are near; then it halves the gap.
function log_search.first_after(key, horizon_us, low, high, high_us, down)
  local reach, galloping = 1, true
  while low < high do
    local probe = math.floor((low + high) / 2)
    if galloping and down then
      probe = math.max(high - reach, low)
    elseif galloping then
      probe = math.min(low + reach - 1, high - 1)
    end
    local entry_us = clock.parse_us(redis.call('LINDEX', key, probe)) -- rlfunc:ignore key-loop halves the range, 40 steps at most
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

return log_search
