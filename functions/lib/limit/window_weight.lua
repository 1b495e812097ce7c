--- What a window's count still weighs in the next one: in proportion to its part that lies in the last window's length.
--- @lib window_weight
local window_weight = {}

-- Returns what the previous window still counts, rounded up: by one more where the product is above 2^53, and so not exact.
function window_weight.of(row, before, elapsed_ms)
  local product = before * (row.window_ms - math.max(elapsed_ms, 0))
  local weight = math.ceil(product / row.window_ms)
  if product > 9007199254740992 then
    return math.min(weight + 1, before)
  end
  return weight
end

-- Returns how far a window has gone when a count of the previous one weighs at most room, by bisection.
function window_weight.fits_at(row, count, room)
  local low, high = 0, row.window_ms
  while low < high do
    local middle = math.floor((low + high) / 2)
    if window_weight.of(row, count, middle) <= room then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

return window_weight
