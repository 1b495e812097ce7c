--- Removes a client from the channel.
--- @key    clients  zset[clients]      clients, with the end of their presence
--- @key    infos    hash[infos]        what each client tells of itself
--- @key    users    zset[users]?user   users, with the end of their presence
--- @key    counts   hash[counts]?user  clients of each user
--- @arg    client   text[64]           the client
--- @arg    user     text[64]?          its user
--- @result removed  bool               whether the client was there
local function remove(clients, infos, users, counts, client, user)
  local removed = redis.call('HDEL', infos, client) == 1
  redis.call('ZREM', clients, client)
  if user and removed then
    local left = redis.call('HINCRBY', counts, user, -1)
    if left <= 0 then
      redis.call('ZREM', users, user)
      redis.call('HDEL', counts, user)
    end
  end
  return removed
end
