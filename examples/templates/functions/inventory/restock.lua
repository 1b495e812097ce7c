--- Adds units to the stock, or takes some away: a delivery, a count that was wrong, a broken unit.
---
--- A repeated call adds again: after a lost reply, look at the stock first. A refused call writes nothing.
--- @use clock refusal stock_book
--- @key    stock         hash[stock] forever      units on hand and reserved
--- @key    ends          zset[ends] forever       when each reservation ends
--- @arg    units         int[-1000000..1000000]   units that come in, or go out if below 0
--- @result allowed       bool                     false: fewer would be on hand than are reserved
--- @result on_hand       count[0..1000000000]     units on hand after the call: 10
--- @result available     count[0..1000000000]     units that can be reserved after the call: 8
--- @error  RLARG                                  more than 1000000000 would be on hand
--- @error  RLSTATE                                the key holds no stock
local function restock(stock, ends, units)
  local book, unreadable = stock_book.read(stock, ends, clock.now_us(), '')
  if not book then
    return nil, unreadable
  end
  local on_hand = book.on_hand + units
  if on_hand > stock_book.most_units then
    return nil, refusal.argument('units must be fewer: at most 1000000000 can be on hand')
  end
  if units < 0 and on_hand < book.reserved then
    return false, book.on_hand, stock_book.available(book)
  end
  book.on_hand = on_hand
  stock_book.store(stock, ends, book)
  return true, on_hand, stock_book.available(book)
end
