--- Gives a player bonus units, above full if need be, up to 400.
---
--- A gift has an id, and a repeat with the same id within a day gives nothing more.
--- @use clock
--- @subject the player
--- @key    energy      hash[energy]          'units' and 'at', the time since when the next unit refills
--- @key    given       string[gift:<id>]     units that this gift gave
--- @arg    id          text[64]              the gift
--- @arg    units       count[1..200]         units to give
--- @arg    full        count[1..200]         units that refill up to
--- @arg    every       duration[1s..1h]      how long a unit takes to refill
--- @arg    keep        duration[1d..30d]     how long the units are kept, at least
--- @result given       count[0..200]         units that this gift gave, now or before
--- @result repeated    bool                  whether the gift was given before
local function gift(energy, given, id, units, full, every_us, keep_us)
  local before = redis.call('GET', given)
  if before then
    return math.min(tonumber(before) or 0, 200), true
  end
  local now_us = clock.now_us()
  local found = redis.call('HMGET', energy, 'units', 'at')
  local have = math.min(math.max(tonumber(found[1]) or full, 0), 400)
  local at_us = clock.parse_us(found[2] or '') or now_us
  if have < full then
    local refilled = math.max(math.floor((now_us - at_us) / every_us), 0)
    have = math.min(have + refilled, full)
    at_us = at_us + refilled * every_us
  end
  local more = math.min(units, 400 - have)
  if more > 0 then
    if have + more >= full then
      at_us = now_us
    end
    redis.call('HSET', energy, 'units', have + more, 'at', clock.text(at_us))
    clock.extend(energy, math.max((full - have - more) * every_us + at_us - now_us, keep_us))
  end
  clock.store_for(given, more, 86400000000)
  return more, false
end
