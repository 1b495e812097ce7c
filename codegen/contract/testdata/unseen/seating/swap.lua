-- Returns whether a seat is bought, or held by another customer.
local function is_taken(owner, ends_us, customer, now_us)
  if not owner then
    return false
  end
  return ends_us == 0 or (owner ~= customer and ends_us > now_us)
end

--- Moves a customer's hold to another seat, with what the hold has left.
---
--- Both seats may be the same: then nothing changes. A refused call writes nothing.
--- @use clock
--- @subject the show
--- @key    seats         hash[seats]       'o:<seat>' who has a seat, 'e:<seat>' when the hold ends, 0 if it is bought
--- @arg    from          count[1..500]     the seat that the customer holds
--- @arg    to            count[1..500]     the seat that the customer wants
--- @arg    customer      text[64]          who holds it
--- @result outcome       enum(swapped,not_held,taken) not_held: the customer has no open hold of from. taken: another has to
--- @result expires_after duration          what the hold has left; 0 when refused
--- @refused outcome not_held taken
local function swap(seats, from, to, customer)
  local now_us = clock.now_us()
  local found = redis.call('HMGET', seats, 'o:' .. from, 'e:' .. from, 'o:' .. to, 'e:' .. to)
  local ends_us = clock.parse_us(found[2] or '0') or 0
  if found[1] ~= customer or ends_us <= now_us then
    return 'not_held', 0
  end
  if from == to then
    return 'swapped', ends_us - now_us
  end
  if is_taken(found[3], clock.parse_us(found[4] or '0') or 0, customer, now_us) then
    return 'taken', 0
  end
  redis.call('HSET', seats, 'o:' .. to, customer, 'e:' .. to, clock.text(ends_us))
  redis.call('HDEL', seats, 'o:' .. from, 'e:' .. from)
  return 'swapped', ends_us - now_us
end
