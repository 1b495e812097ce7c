--- Takes back the highest bid, if it is the bidder's: the bid before it leads again.
---
--- A refused call writes nothing.
--- @use clock
--- @subject the lot
--- @key    lot         hash[lot]                        'top' and 'bidder' the highest bid, 'was_top' and 'was_bidder' the one before,
---     'ends' when it ends, 'least' the first bid, 'title' what is sold
--- @arg    bidder      text[64]                         who retracts
--- @result retracted   bool                             false: another leads, or the auction has ended
--- @result top         micros[0..1000000000000000]      the highest bid after the call; 0 if there is none
--- @refused retracted
local function retract(lot, bidder)
  local found = redis.call('HMGET', lot, 'top', 'bidder', 'ends')
  local top = tonumber(found[1]) or 0
  if clock.now_us() >= (clock.parse_us(found[3] or '0') or 0) or found[2] ~= bidder then
    return false, top
  end
  local before = redis.call('HGET', lot, 'was_top')
  if before == nil then
    redis.call('HDEL', lot, 'top', 'bidder')
    return true, 0
  end
  redis.call('HSET', lot, 'top', before, 'bidder', redis.call('HGET', lot, 'was_bidder'))
  redis.call('HDEL', lot, 'was_top', 'was_bidder')
  return true, tonumber(before) or 0
end
