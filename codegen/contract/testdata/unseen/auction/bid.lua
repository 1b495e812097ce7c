--- Bids on a lot. A bid in the last minute makes the auction end a minute from now.
---
--- A refused call writes nothing.
--- @use clock
--- @subject the lot
--- @key    lot         hash[lot]                        'top' and 'bidder' the highest bid, 'was_top' and 'was_bidder' the one before,
---     'ends' when it ends, 'least' the first bid, 'title' what is sold
--- @arg    bidder      text[64]                         who bids
--- @arg    amount      micros[1..1000000000000000]      the bid
--- @result outcome     enum(leading,too_low,over)       over: the auction has ended, or was never opened
--- @result top         micros[0..1000000000000000]      the highest bid after the call; 0 if there is none
--- @result ends_after  duration                         how long the auction still lasts
--- @refused outcome too_low over
local function bid(lot, bidder, amount_micros)
  local now_us = clock.now_us()
  local minute_us, week_us = 60000000, 604800000000
  local found = redis.call('HMGET', lot, 'top', 'bidder', 'ends', 'least')
  local top = tonumber(found[1]) or 0
  local ends_us = clock.parse_us(found[3] or '0') or 0
  if now_us >= ends_us then
    return 'over', top, 0
  end
  if amount_micros <= top or amount_micros < (tonumber(found[4]) or 0) then
    return 'too_low', top, ends_us - now_us
  end
  if found[1] and found[2] then
    redis.call('HSET', lot, 'was_top', found[1], 'was_bidder', found[2])
  end
  ends_us = math.max(ends_us, now_us + minute_us)
  redis.call('HSET', lot, 'top', tostring(amount_micros), 'bidder', bidder, 'ends', clock.text(ends_us))
  clock.extend(lot, ends_us - now_us + week_us)
  return 'leading', amount_micros, ends_us - now_us
end
