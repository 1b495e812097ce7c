--- Closes an auction that has ended and returns who won. Closing again returns the same.
---
--- Before the end the call is refused. The result is kept for a week after the first close.
--- @use clock
--- @subject the lot
--- @key    lot         hash[lot]        'top' and 'bidder' the highest bid, 'was_top' and 'was_bidder' the one before,
---     'ends' when it ends, 'least' the first bid, 'title' what is sold
--- @key    winner      string[winner]   the winner's name, empty if nobody bid
--- @result outcome     enum(sold,unsold,running,unknown) running: it has not ended. unknown: there is no such lot
--- @result bidder      text[0..64]      who won
--- @result retry_after duration         how long it still lasts, if running
--- @refused outcome running unknown
local function close(lot, winner)
  local known = redis.call('GET', winner)
  if known then
    return known == '' and 'unsold' or 'sold', known, 0
  end
  local ends = redis.call('HGET', lot, 'ends')
  if not ends then
    return 'unknown', '', 0
  end
  local left_us = (clock.parse_us(ends) or 0) - clock.now_us()
  if left_us > 0 then
    return 'running', '', left_us
  end
  local bidder = redis.call('HGET', lot, 'bidder') or ''
  clock.store_for(winner, bidder, 604800000000)
  return bidder == '' and 'unsold' or 'sold', bidder, 0
end
