--- Buys a seat that a customer holds, if the customer has fewer than most seats.
---
--- A seat that the customer has bought is confirmed again. A refused call writes nothing.
--- @use clock
--- @subject the show
--- @key    seats       hash[seats]           'o:<seat>' who has a seat, 'e:<seat>' when the hold ends, 0 if it is bought
--- @key    bought      hash[bought]          seats that each customer has bought
--- @arg    seat        count[1..500]         the seat's number
--- @arg    customer    text[64]              who holds it
--- @arg    most        count[1..20]=8        most seats of a customer
--- @arg    keep        duration[1h..60d]     how long the seats of the show are kept, at least
--- @result outcome     enum(confirmed,not_held,too_many) not_held: the hold has ended, or another customer has the seat
--- @result seats       count[0..500]         seats that the customer has bought after the call
--- @refused outcome not_held too_many
local function confirm(seats, bought, seat, customer, most, keep_us)
  local now_us = clock.now_us()
  local found = redis.call('HMGET', seats, 'o:' .. seat, 'e:' .. seat)
  local owner, ends_us = found[1], clock.parse_us(found[2] or '0') or 0
  local mine = tonumber(redis.call('HGET', bought, customer)) or 0
  if owner ~= customer then
    return 'not_held', mine
  end
  if ends_us == 0 then
    return 'confirmed', mine
  end
  if ends_us <= now_us then
    return 'not_held', mine
  end
  redis.call('HSET', seats, 'e:' .. seat, 0)
  clock.extend(seats, keep_us)
  if mine >= most then
    return 'too_many', mine
  end
  redis.call('HSET', bought, customer, mine + 1)
  clock.extend(bought, keep_us)
  return 'confirmed', mine + 1
end
