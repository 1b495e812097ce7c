--- Holds a seat for a customer until it is bought or the hold ends.
---
--- The same customer again renews the hold. A seat that the customer has bought stays bought. A refused call writes nothing.
--- @use clock
--- @subject the show
--- @key    seats         hash[seats]           'o:<seat>' who has a seat, 'e:<seat>' when the hold ends, 0 if it is bought
--- @arg    seat          count[1..500]         the seat's number
--- @arg    customer      text[64]              who wants it
--- @arg    hold          duration[10s..30m]    how long it is held
--- @arg    keep          duration[1h..60d]     how long the seats of the show are kept, at least
--- @result allowed       bool                  whether the customer has the seat now
--- @result bought        bool                  whether the seat is bought
--- @result expires_after duration              what the customer's hold has left; 0 if bought or refused
--- @result retry_after   duration              what the other hold has left; 0 if bought or allowed
local function hold(seats, seat, customer, hold_us, keep_us)
  local now_us = clock.now_us()
  local owner_field, end_field = 'o:' .. seat, 'e:' .. seat
  local found = redis.call('HMGET', seats, owner_field, end_field)
  local owner, ends_us = found[1], clock.parse_us(found[2] or '0') or 0
  local bought = owner and ends_us == 0
  if bought then
    return owner == customer, true, 0, 0
  end
  if owner and owner ~= customer and ends_us > now_us then
    return false, false, 0, ends_us - now_us
  end
  redis.call('HSET', seats, owner_field, customer, end_field, clock.text(now_us + hold_us))
  clock.extend(seats, math.max(hold_us, keep_us))
  return true, false, hold_us, 0
end
