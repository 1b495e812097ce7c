--- The stock of one item: units on hand, and reservations that end.
---
--- A reservation that has ended no longer counts. One that ends more than 60 days ahead, twice the longest hold, is from a wrong
--- clock and does not count either. A call removes at most 500 of them, so its work is bounded.
--- @use clock refusal
--- @lib stock_book
--- @state stock_book 1 fields on_hand and reserved, in units, and 'r:<id>', the units of each reservation
local stock_book = {most_units = 1000000000}

local most_removed = 500
local most_ahead_us = 5184000000000

-- Parses stored units; nil if they are invalid.
local function parse_units(text)
  local units = tonumber(text)
  if units and units >= 0 and units <= stock_book.most_units and units % 1 == 0 then
    return units
  end
  return nil
end

-- Removes a reservation from the book.
function stock_book.remove(book, id, units)
  book.removed[#book.removed + 1] = id
  book.fields[#book.fields + 1] = 'r:' .. id
  book.reserved = math.max(book.reserved - units, 0)
end

-- Returns the stock without reservations that have ended, and the units of one reservation, 0 if it is not open. Or nil and a
-- refusal. It writes nothing.
function stock_book.read(stock, ends, now_us, id)
  local ended = redis.call('ZRANGEBYSCORE', ends, '-inf', clock.text(now_us), 'LIMIT', '0', most_removed)
  if #ended == 0 then
    ended = redis.call('ZRANGEBYSCORE', ends, '(' .. clock.text(now_us + most_ahead_us), '+inf', 'LIMIT', '0', most_removed)
  end
  local fields = {'on_hand', 'reserved', 'r:' .. id}
  for i = 1, #ended do
    fields[i + 3] = 'r:' .. ended[i]
  end
  local found = redis.call('HMGET', stock, unpack(fields, 1, #fields))
  local on_hand, reserved, units = parse_units(found[1] or '0'), parse_units(found[2] or '0'), parse_units(found[3] or '0')
  if not on_hand or not reserved or not units then
    return nil, refusal.state(stock, 'holds no stock')
  end
  local book = {on_hand = on_hand, reserved = reserved, units = units, ends_us = 0, removed = {}, fields = {}}
  if units > 0 then
    book.ends_us = clock.parse_us(redis.call('ZSCORE', ends, id) or '0') or 0
    if book.ends_us <= now_us or book.ends_us - now_us > most_ahead_us then
      book.units = 0
      stock_book.remove(book, id, units)
    end
  end
  for i = 1, #ended do
    if ended[i] ~= id then
      stock_book.remove(book, ended[i], parse_units(found[i + 3] or '0') or 0)
    end
  end
  return book
end

-- Stores the book.
function stock_book.store(stock, ends, book)
  if #book.removed > 0 then
    redis.call('HDEL', stock, unpack(book.fields, 1, #book.fields))
    redis.call('ZREM', ends, unpack(book.removed, 1, #book.removed))
  end
  redis.call('HSET', stock, 'on_hand', book.on_hand, 'reserved', book.reserved)
end

-- Returns the units that can be reserved.
function stock_book.available(book)
  return math.max(book.on_hand - book.reserved, 0)
end

return stock_book
