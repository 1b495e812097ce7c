--- Gives back a seat that a customer holds and has not bought, so that others may have it at once.
--- @use clock
--- @subject the show
--- @key    seats       hash[seats]       'o:<seat>' who has a seat, 'e:<seat>' when the hold ends, 0 if it is bought
--- @key    given       list[given]       the last 100 holds that were given back, newest first, for the box office
--- @arg    seat        count[1..500]     the seat's number
--- @arg    customer    text[64]          who holds it
--- @result released    bool              false: bought, the hold has ended, or another customer has the seat
--- @refused released
local function release(seats, given, seat, customer)
  local now_us = clock.now_us()
  local owner_field, end_field = 'o:' .. seat, 'e:' .. seat
  local found = redis.call('HMGET', seats, owner_field, end_field)
  local ends_us = clock.parse_us(found[2] or '0') or 0
  if not found[1] or ends_us <= now_us then
    return false
  end
  redis.call('HDEL', seats, owner_field, end_field)
  redis.call('LPUSH', given, seat .. ' ' .. customer)
  redis.call('LTRIM', given, 0, 99)
  clock.expire_after(given, 86400000000)
  return true
end
