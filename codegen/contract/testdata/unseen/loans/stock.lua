--- Says how many copies of a book the library owns. Fewer than are lent is refused, and writes nothing.
--- @subject the book
--- @key    book        hash[book] forever       'owned' and 'left', copies
--- @key    loans       zset[loans] forever      readers by the time when they bring their copy back
--- @arg    owned       count[0..1000]           copies that the library owns
--- @result allowed     bool                     false: more are lent
--- @result left        count[0..1000]           copies that can be borrowed after the call
--- @result lent        count[0..1000]           copies that readers have
--- @result before      count[0..1000]?          copies that the library owned before; none for a new book
local function stock(book, loans, owned)
  local found = redis.call('HMGET', book, 'owned', 'left')
  local before = tonumber(found[1])
  local lent = math.min(redis.call('ZCARD', loans), 1000)
  if owned < lent then
    return false, math.min(math.max(tonumber(found[2]) or 0, 0), 1000), lent, before
  end
  if owned == 0 then
    redis.call('DEL', book)
    return true, 0, 0, before
  end
  if owned ~= before or tonumber(found[2]) ~= owned - lent then
    redis.call('HSET', book, 'owned', owned, 'left', owned - lent)
  end
  return true, owned - lent, lent, before
end
