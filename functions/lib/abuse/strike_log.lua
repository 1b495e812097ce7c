--- The strikes of a subject: when its blocks began. They precede its attempts; the newest 64 are kept.
--- @use clock refusal packed_times
--- @lib strike_log
local strike_log = {}

local max_strikes = 64

-- Returns how many strikes are less than memory_us old, how many less than kept_us, which is at least memory_us, and the time of
-- the newest; or nil and a refusal. If the newest is further ahead than kept_us, a wrong clock wrote it, and none counts.
function strike_log.count(key, times, clock_us, memory_us, kept_us)
  if times == '' then
    return 0, 0, clock_us
  end
  local newest_us, count, kept = clock.parse_us(string.sub(times, -16)), nil, nil
  if newest_us and newest_us - clock_us > kept_us then
    return 0, 0, clock_us
  end
  if newest_us then
    local now_us, strikes = math.max(clock_us, newest_us), math.floor(#times / 16)
    count = packed_times.count_after(times, strikes, now_us - memory_us)
    kept = count
    if kept_us > memory_us then
      kept = packed_times.count_after(times, strikes, now_us - kept_us)
    end
  end
  if not count or not kept then
    return nil, refusal.state(key, 'holds no times of strikes')
  end
  return count, kept, newest_us
end

-- Returns the newest `kept` strikes and one more.
function strike_log.append(times, kept, text)
  return packed_times.newest(times, math.min(kept, max_strikes - 1)) .. text
end

return strike_log
