--- Returns a player's energy; writes nothing.
--- @use clock
--- @flags  no-writes
--- @subject the player
--- @key    energy      hash[energy]          'units' and 'at', the time since when the next unit refills
--- @arg    full        count[1..200]         units that refill up to
--- @arg    every       duration[1s..1h]      how long a unit takes to refill
--- @result units       count[0..400]         units now
--- @result next_after  duration[0us..1h]     wait until the next unit; 0 if full
local function peek(energy, full, every_us)
  local now_us = clock.now_us()
  local found = redis.call('HMGET', energy, 'units', 'at')
  local have = math.min(math.max(tonumber(found[1]) or full, 0), 400)
  if have >= full then
    return have, 0
  end
  local at_us = clock.parse_us(found[2] or '') or now_us
  local refilled = math.floor((now_us - at_us) / every_us)
  if have + refilled >= full then
    return full, 0
  end
  local rest_us = (now_us - at_us) % every_us
  return have + refilled, every_us - rest_us
end
