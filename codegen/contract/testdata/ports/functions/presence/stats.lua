--- Counts the clients and the users that are present, and forgets those whose time is over.
--- @use clock
--- @key    clients  zset[clients]  clients, with the end of their presence
--- @key    infos    hash[infos]    what each client tells of itself
--- @key    users    zset[users]    users, with the end of their presence
--- @key    counts   hash[counts]   clients of each user
--- @result clients  count          clients that are present
--- @result users    count          users that are present
local function stats(clients, infos, users, counts)
  local now_us = clock.now_us()
  local gone = redis.call('ZRANGEBYSCORE', clients, 0, now_us, 'LIMIT', 0, 1000)
  if #gone > 0 then
    redis.call('HDEL', infos, unpack(gone))
    redis.call('ZREMRANGEBYRANK', clients, 0, #gone - 1)
  end
  local without = redis.call('ZRANGEBYSCORE', users, 0, now_us, 'LIMIT', 0, 1000)
  if #without > 0 then
    redis.call('HDEL', counts, unpack(without))
    redis.call('ZREMRANGEBYRANK', users, 0, #without - 1)
  end
  return redis.call('HLEN', infos), redis.call('HLEN', counts)
end
