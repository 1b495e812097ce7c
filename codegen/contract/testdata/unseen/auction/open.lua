--- Opens an auction. One that is open already stays as it is, and so does one that has been closed.
--- @use clock refusal
--- @subject the lot
--- @key    lot         hash[lot]                        'top' and 'bidder' the highest bid, 'was_top' and 'was_bidder' the one before,
---     'ends' when it ends, 'least' the first bid, 'title' what is sold
--- @key    winner      string[winner]                   the winner's name, empty if nobody bid
--- @arg    least       micros[1..1000000000000000]      the first bid
--- @arg    lasts       duration[1m..30d]                how long it lasts
--- @arg    title       text[200]?                       what is sold
--- @result opened      bool                             false: it was opened before
--- @result ends_after  duration                         how long it still lasts; 0 if it is over
--- @refused opened
--- @error  RLSTATE                                      the lot's key holds something else
local function open(lot, winner, least_micros, lasts_us, title)
  local now_us = clock.now_us()
  local week_us = 604800000000
  if redis.call('EXISTS', lot, winner) > 0 then
    local ends = redis.call('HGET', lot, 'ends')
    local ends_us = clock.parse_us(ends or '0')
    if not ends_us then
      return nil, refusal.state(lot, 'holds no lot')
    end
    return false, math.max(ends_us - now_us, 0)
  end
  redis.call('HSET', lot, 'ends', clock.text(now_us + lasts_us), 'least', string.format('%.0f', least_micros))
  if title then
    redis.call('HSET', lot, 'title', title)
  end
  clock.expire(lot, lasts_us + week_us)
  return true, lasts_us
end
