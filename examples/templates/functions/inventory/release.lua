--- Gives back what was reserved.
--- @use clock stock_book
--- @key    stock         hash[stock] forever    units on hand and reserved
--- @key    ends          zset[ends] forever     when each reservation ends
--- @arg    id            text[64]               the reservation
--- @result released      bool                   false: confirmed, released before, ended, or never made
--- @result available     count[0..1000000000]   units that can be reserved after the call: 8
--- @refused released
--- @error  RLSTATE                              the key holds no stock
local function release(stock, ends, id)
  local book, unreadable = stock_book.read(stock, ends, clock.now_us(), id)
  if not book then
    return nil, unreadable
  end
  if book.units == 0 then
    return false, stock_book.available(book)
  end
  stock_book.remove(book, id, book.units)
  stock_book.store(stock, ends, book)
  return true, stock_book.available(book)
end
