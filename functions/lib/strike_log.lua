--- The strikes of a subject: when its blocks began, in one string. The newest 64 are kept.
--- @use clock refusal packed_times
--- @lib strike_log
--- @state strike_log 1 times of 16 digits, oldest first
local strike_log = {}

local most = 64

-- Reads the strikes that are less than memory_us old: how many, their times, and the later of the clock and the newest.
-- A fourth result is a refusal. A strike further ahead than memory_us is a broken clock's: then none counts.
function strike_log.read(key, clock_us, memory_us)
  local times = redis.call('GET', key)
  if not times then
    return 0, '', clock_us
  end
  local length = math.floor(#times / 16)
  local newest_us = clock.parse_us(string.sub(times, -16))
  if not newest_us or #times % 16 > 0 then
    return 0, '', clock_us, refusal.state(key, 'holds no times of strikes')
  end
  if newest_us - clock_us > memory_us then
    return 0, times, clock_us
  end
  local now_us = math.max(clock_us, newest_us)
  local count = packed_times.count_after(times, length, now_us - memory_us)
  if not count then
    return 0, '', clock_us, refusal.state(key, 'holds no times of strikes')
  end
  return count, times, now_us
end

-- Records a strike behind `count` others, and returns how many there are then.
function strike_log.record(key, count, times, now_us, clock_us, memory_us)
  local keep = math.min(count, most - 1)
  clock.store(key, packed_times.append(times, keep, now_us), math.ceil((memory_us + now_us - clock_us) / 1000))
  return keep + 1
end

return strike_log
