--- Orders one unit for a user that has none.
--- @use clock
--- @key    stock   string[stock]   units that are left
--- @key    buyers  set[buyers]     who has ordered
--- @key    orders  stream[orders]  the orders
--- @arg    user    text[64]        who orders
--- @arg    id      text[64]        the order's id
--- @result outcome enum(ordered,sold_out,repeated,closed) closed: there is no sale
--- @result left    count           units that are left
--- @refused outcome sold_out repeated closed
local function order(stock, buyers, orders, user, id)
  local units = tonumber(redis.call('GET', stock))
  if not units then
    return 'closed', 0
  end
  if units <= 0 then
    return 'sold_out', 0
  end
  if redis.call('SISMEMBER', buyers, user) == 1 then
    return 'repeated', units
  end
  local left_us = math.max(clock.left_ms(stock), 1) * 1000
  local left = redis.call('INCRBY', stock, -1)
  redis.call('SADD', buyers, user)
  redis.call('XADD', orders, '*', 'user', user, 'id', id)
  clock.expire(buyers, left_us)
  clock.expire(orders, left_us)
  return 'ordered', left
end
