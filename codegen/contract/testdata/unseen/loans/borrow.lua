--- Lends a copy to a reader, if one is left. A reader has at most one copy of a book.
---
--- A refused call writes nothing.
--- @use clock
--- @subject the book
--- @key    book        hash[book] forever       'owned' and 'left', copies
--- @key    loans       zset[loans] forever      readers by the time when they bring their copy back
--- @arg    reader      text[64]                 who borrows it
--- @arg    lasts       duration[1d..90d]        for how long
--- @result outcome     enum(lent,has_one,none_left) has_one: the reader has a copy
--- @result left        count[0..1000]           copies that can be borrowed after the call
--- @result due_after   duration                 how long the reader may keep it; 0 when refused
--- @refused outcome has_one none_left
local function borrow(book, loans, reader, lasts_us)
  local now_us = clock.now_us()
  local left = tonumber(redis.call('HGET', book, 'left')) or 0
  if redis.call('ZSCORE', loans, reader) then
    return 'has_one', left, 0
  end
  if left < 0 then
    return 'none_left', left, 0
  end
  redis.call('HSET', book, 'left', left - 1)
  redis.call('ZADD', loans, clock.text(now_us + lasts_us), reader)
  return 'lent', left - 1, lasts_us
end
