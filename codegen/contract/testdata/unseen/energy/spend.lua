--- Spends energy, if there is enough. One unit refills every so often, up to full.
---
--- Bonus units above full can be spent and do not refill. If the clock is set back, refilling waits until it is where it was. A refused
--- call writes nothing.
--- @use clock
--- @subject the player
--- @key    energy      hash[energy]          'units' and 'at', the time since when the next unit refills
--- @arg    units       count[1..200]         units to spend
--- @arg    full        count[1..200]         units that refill up to
--- @arg    every       duration[1s..1h]      how long a unit takes to refill
--- @result allowed     bool                  whether they are spent
--- @result left        count[0..400]         units after the call
--- @result retry_after duration              wait until there are enough; 0 when allowed, or when there are never enough
local function spend(energy, units, full, every_us)
  local now_us = clock.now_us()
  local found = redis.call('HMGET', energy, 'units', 'at')
  local have = math.min(math.max(tonumber(found[1]) or full, 0), 400)
  local at_us = clock.parse_us(found[2] or '') or now_us
  local refilled = math.max(math.floor((now_us - at_us) / every_us), 0)
  if have >= full then
    at_us = now_us
  elseif have + refilled >= full then
    have = full
    at_us = now_us
  else
    have = have + refilled
    at_us = at_us + refilled * every_us
  end
  if units > have then
    if units > full then
      return false, have, 0
    end
    return false, have, (units - have) * every_us - (now_us - at_us)
  end
  have = have - units
  redis.call('HSET', energy, 'units', have, 'at', clock.text(at_us))
  clock.extend(energy, math.max((full - have) * every_us + at_us - now_us, every_us))
  return true, have, 0
end
