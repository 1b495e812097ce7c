--- Sells what was reserved: the units leave the stock.
---
--- For at least a day, the same id again is confirmed again and sells nothing more. Without an open reservation the call writes nothing.
--- @use clock stock_book
--- @key    stock         hash[stock] forever    units on hand and reserved
--- @key    ends          zset[ends] forever     when each reservation ends
--- @key    sold          zset[sold]             ids that were confirmed, with the time
--- @arg    id            text[64]               the reservation
--- @result outcome       enum(confirmed,not_reserved) not_reserved: released, ended, or never made
--- @result on_hand       count[0..1000000000]   units on hand after the call: 9
--- @refused outcome not_reserved
--- @error  RLSTATE                              the key holds no stock
local function confirm(stock, ends, sold, id)
  local now_us = clock.now_us()
  local book, unreadable = stock_book.read(stock, ends, now_us, id)
  if not book then
    return nil, unreadable
  end
  if book.units == 0 then
    if redis.call('ZSCORE', sold, id) then
      return 'confirmed', book.on_hand
    end
    return 'not_reserved', book.on_hand
  end
  local day_us = 86400000000
  local old = redis.call('ZRANGEBYSCORE', sold, '-inf', clock.text(now_us - day_us), 'LIMIT', '0', '2')
  for i = 1, #old do
    redis.call('ZREM', sold, old[i])
  end
  redis.call('ZADD', sold, clock.text(now_us), id)
  clock.expire(sold, day_us)
  book.on_hand = math.max(book.on_hand - book.units, 0)
  stock_book.remove(book, id, book.units)
  stock_book.store(stock, ends, book)
  return 'confirmed', book.on_hand
end
