--- Returns an item's stock; writes nothing.
--- @use clock stock_book
--- @flags  no-writes
--- @key    stock         hash[stock] forever    units on hand and reserved
--- @key    ends          zset[ends] forever     when each reservation ends
--- @result on_hand       count[0..1000000000]   units that are not sold: 10
--- @result reserved      count[0..1000000000]   units of open reservations: 2
--- @result available     count[0..1000000000]   units that can be reserved: 8
--- @error  RLSTATE                              the key holds no stock
local function peek(stock, ends)
  local book, unreadable = stock_book.read(stock, ends, clock.now_us(), '')
  if not book then
    return nil, unreadable
  end
  return book.on_hand, book.reserved, stock_book.available(book)
end
