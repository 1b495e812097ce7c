--- Keeps a search among the last twenty of a user, and its term among the last 100,000 of the tenant.
---
--- A term that the user has searched for before moves to the front.
--- @use clock
--- @subject the tenant
--- @key    recent      list[recent:<user>]     the user's last searches, newest first
--- @key    terms       zset[terms]             terms of all users by the time of their last search
--- @arg    user        text[64]                who searched
--- @arg    term        text[100]               for what
--- @arg    keep        duration[1d..366d]=90d  how long searches are kept after the last one, at least
--- @result repeated    bool                    whether it was among the user's last searches
--- @result kept        count[1..20]            searches of the user that are kept
local function searched(recent, terms, user, term, keep_us)
  local now_us = clock.now_us()
  local repeated = redis.call('LPOS', recent, term) ~= false
  local kept = redis.call('LPUSH', recent, term)
  if repeated then
    redis.call('LREM', recent, -1, term)
    kept = kept - 1
  end
  if kept > 20 then
    redis.call('LTRIM', recent, 0, 19)
    kept = 20
  end
  clock.extend(recent, keep_us)
  if redis.call('ZADD', terms, clock.text(now_us), term) == 1 then
    redis.call('ZREMRANGEBYRANK', terms, 0, -100001)
  end
  clock.extend(terms, keep_us)
  return repeated, kept
end
