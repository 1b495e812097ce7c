--- Returns how long a player's energy lasts, if units are spent at a rate; writes nothing.
---
--- What refills from now on is left out: the answer is the least that the player can expect.
--- @use clock
--- @flags  no-writes
--- @subject the player
--- @key    energy      hash[energy]           'units' and 'at', the time since when the next unit refills
--- @arg    full        count[1..200]          units that refill up to
--- @arg    every       duration[1s..1h]       how long a unit takes to refill
--- @arg    per_hour    count[0..3600]         units that are spent in an hour
--- @result units       count[0..400]          units now
--- @result lasts       duration[0us..400h]    how long they last
--- @result empty_at    time                   when they are spent; 0 without energy
local function forecast(energy, full, every_us, per_hour)
  local now_us = clock.now_us()
  local found = redis.call('HMGET', energy, 'units', 'at')
  local have = math.floor(math.min(math.max(tonumber(found[1]) or full, 0), 400))
  local at_us = clock.parse_us(found[2] or '') or now_us
  if have < full then
    local refilled = math.max(math.floor((now_us - at_us) / every_us), 0)
    have = math.min(have + refilled, full)
  end
  if have == 0 then
    return 0, 0, 0
  end
  local each_us = math.floor(3600000000 / per_hour)
  local lasts_us = have * each_us
  return have, lasts_us, now_us + lasts_us
end
