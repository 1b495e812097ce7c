--- The strikes of a subject: when its blocks began. They stand in front of its attempts; the newest 64 are kept.
--- @use clock refusal packed_times
--- @lib strike_log
local strike_log = {}

local most = 64

-- How many of the strikes are less than memory_us old, and the time of the newest. Or nil and a refusal.
-- A strike further ahead than memory_us is a broken clock's: then none counts.
function strike_log.count(key, times, clock_us, memory_us)
  if times == '' then
    return 0, clock_us
  end
  local newest_us, count = clock.parse_us(string.sub(times, -16)), nil
  if newest_us and newest_us - clock_us > memory_us then
    return 0, clock_us
  end
  if newest_us then
    count = packed_times.count_after(times, math.floor(#times / 16), math.max(clock_us, newest_us) - memory_us)
  end
  if not count then
    return nil, refusal.state(key, 'holds no times of strikes')
  end
  return count, newest_us
end

-- The newest `count` strikes and one more, and how many these are.
function strike_log.append(times, count, text)
  local keep = count
  if keep >= most then
    keep = most - 1
  end
  return packed_times.newest(times, keep) .. text, keep + 1
end

return strike_log
