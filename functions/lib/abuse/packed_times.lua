--- Times in one string, oldest first and 16 digits each, so that each is found by its position.
--- @use clock
--- @lib packed_times
local packed_times = {}

-- Formats a time.
function packed_times.text(time_us)
  local text = clock.text(time_us)
  if #text == 16 then
    return text
  end
  return string.rep('0', 16 - #text) .. text
end

-- Returns how many of the `length` times are later than horizon_us, by binary search; nil if it meets an invalid time.
function packed_times.count_after(times, length, horizon_us)
  local low, high = 1, length + 1
  while low < high do
    local place = math.floor((low + high) / 2)
    local time_us = clock.parse_us(string.sub(times, place * 16 - 15, place * 16))
    if not time_us then
      return nil
    end
    if time_us > horizon_us then
      high = place
    else
      low = place + 1
    end
  end
  return length + 1 - low
end

-- Returns the newest `keep` of the times.
function packed_times.newest(times, keep)
  if #times > keep * 16 then
    return string.sub(times, #times - keep * 16 + 1)
  end
  return times
end

return packed_times
