--- Reserves units of an item for a while.
---
--- The same id again returns its open reservation, with its first end, and reserves nothing more. A refused call reserves
--- nothing; it may remove reservations that have ended.
--- @use clock refusal stock_book
--- @key    stock         hash[stock] forever    units on hand and reserved
--- @key    ends          zset[ends] forever     when each reservation ends
--- @key    sold          zset[sold]             ids that were confirmed, with the time
--- @arg    id            text[64]               the reservation, such as an order's id
--- @arg    units         count[1..1000000]      units to reserve
--- @arg    hold          duration[1s..30d]      how long they are reserved unless confirmed or released
--- @result outcome       enum(reserved,confirmed,busy,sold_out) busy: other reservations hold what is missing. sold_out: fewer
---     are on hand. confirmed: this id was confirmed before (known for at least a day)
--- @result available     count[0..1000000000]   units that can be reserved after the call: 7
--- @result expires_after duration               what the reservation has left: 10m; 0 when refused
--- @result retry_after   duration               wait until a reservation ends, if busy; otherwise 0
--- @refused outcome confirmed busy sold_out
--- @records that reservations have ended: their units are available again
--- @error  RLARG                                id has an open reservation of other units
--- @error  RLSTATE                              the key holds no stock
local function reserve(stock, ends, sold, id, units, hold_us)
  local now_us = clock.now_us()
  local book, unreadable = stock_book.read(stock, ends, now_us, id)
  if not book then
    return nil, unreadable
  end
  local available = stock_book.available(book)
  if book.units > 0 then
    if book.units ~= units then
      return nil, refusal.argument('units must be those of the open reservation of this id')
    end
    return 'reserved', available, book.ends_us - now_us, 0
  end
  if redis.call('ZSCORE', sold, id) then
    return 'confirmed', available, 0, 0
  end
  if units > available then
    if #book.removed > 0 then
      stock_book.store(stock, ends, book)
    end
    if units > book.on_hand then
      return 'sold_out', available, 0, 0
    end
    local first = redis.call('ZRANGE', ends, '0', '0', 'WITHSCORES')
    local first_us = clock.parse_us(first[2] or '0') or 0
    return 'busy', available, 0, math.max(math.min(first_us - now_us, 2592000000000), 1000)
  end
  book.reserved = book.reserved + units
  stock_book.store(stock, ends, book)
  redis.call('HSET', stock, 'r:' .. id, units)
  redis.call('ZADD', ends, clock.text(now_us + hold_us), id)
  return 'reserved', available - units, hold_us, 0
end
