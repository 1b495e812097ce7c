--- Lists the clients that are present, and forgets those whose time is over.
--- @use clock
--- @key    clients  zset[clients]   clients, with the end of their presence
--- @key    infos    hash[infos]     what each client tells of itself
--- @result present  group[0..1000]  the clients, in no order
--- @result present.client text[64]  the client
--- @result present.info bytes[4096] what it tells of itself
--- @error  CROWDED                  more than 1000 clients are present
local function get(clients, infos)
  local gone = redis.call('ZRANGEBYSCORE', clients, 0, clock.now_us(), 'LIMIT', 0, 1000)
  if redis.call('HLEN', infos) - #gone > 1000 then
    return nil, {err = 'CROWDED more than 1000 clients are present'}
  end
  if #gone > 0 then
    redis.call('HDEL', infos, unpack(gone))
    redis.call('ZREM', clients, unpack(gone))
  end
  local all = redis.call('HGETALL', infos)
  local rows = {}
  for i = 1, #all, 2 do
    rows[#rows + 1] = {client = all[i], info = all[i + 1]}
  end
  return rows
end
