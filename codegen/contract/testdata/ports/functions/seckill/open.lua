--- Opens the sale, and forgets an earlier one of the item.
--- @use clock
--- @key    stock   string[stock]        units that are left
--- @key    buyers  set[buyers]          who has ordered
--- @key    orders  stream[orders]       the orders
--- @arg    units   count[1..1000000]    units for sale
--- @arg    lasts   duration[1m..30d]    how long the sale lasts
--- @result opened  bool                 true
local function open(stock, buyers, orders, units, lasts_us)
  redis.call('DEL', buyers, orders)
  clock.store_for(stock, units, lasts_us)
  return true
end
