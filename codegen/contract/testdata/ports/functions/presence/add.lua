--- Adds a client to the channel, or renews its presence.
--- @use clock
--- @key    clients  zset[clients]      clients, with the end of their presence
--- @key    infos    hash[infos]        what each client tells of itself
--- @key    users    zset[users]?user   users, with the end of their presence
--- @key    counts   hash[counts]?user  clients of each user
--- @arg    client   text[64]           the client
--- @arg    info     bytes[4096]        what it tells of itself
--- @arg    ttl      duration[1s..1h]   how long it is present without a renewal
--- @arg    user     text[64]?          its user; without it users are not counted
--- @result new      bool               whether the client was not there before
local function add(clients, infos, users, counts, client, info, ttl_us, user)
  local ends_us = clock.now_us() + ttl_us
  local new = redis.call('HEXISTS', infos, client) == 0
  redis.call('ZADD', clients, clock.text(ends_us), client)
  redis.call('HSET', infos, client, info)
  clock.extend(clients, ttl_us)
  clock.extend(infos, ttl_us)
  if user then
    redis.call('ZADD', users, clock.text(ends_us), user)
    clock.extend(users, ttl_us)
    if new then
      redis.call('HINCRBY', counts, user, 1)
    end
    clock.extend(counts, ttl_us)
  end
  return new
end
