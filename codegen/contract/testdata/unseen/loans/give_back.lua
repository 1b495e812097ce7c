--- Takes back a reader's copy and returns by how much it is late.
---
--- Giving back again changes nothing.
--- @use clock
--- @subject the book
--- @key    book        hash[book] forever       'owned' and 'left', copies
--- @key    loans       zset[loans] forever      readers by the time when they bring their copy back
--- @arg    reader      text[64]                 who brings it
--- @arg    grace       duration[0us..3d]=1d     what does not count as late
--- @result known       bool                     whether the reader had a copy
--- @result late        duration                 by how much it is late, the grace included; 0 within the grace
--- @refused known
local function give_back(book, loans, reader, grace_us)
  local due_us = tonumber(redis.call('ZSCORE', loans, reader))
  if not due_us then
    return false, 0
  end
  local now_us = clock.now_us()
  local found = redis.call('HMGET', book, 'owned', 'left')
  local owned, left = tonumber(found[1]) or 0, tonumber(found[2]) or 0
  redis.call('ZREM', loans, reader)
  if left < owned then
    redis.call('HINCRBY', book, 'left', 1)
  end
  if now_us <= due_us + grace_us then
    return true, 0
  end
  return true, now_us - due_us
end
