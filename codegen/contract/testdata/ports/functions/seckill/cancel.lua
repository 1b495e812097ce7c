--- Gives the unit of a user back, whose order could not be stored.
--- @key    stock    string[stock]  units that are left
--- @key    buyers   set[buyers]    who has ordered
--- @arg    user     text[64]       who has ordered
--- @result canceled bool           false: the user has ordered nothing, or the sale is over
local function cancel(stock, buyers, user)
  if redis.call('EXISTS', stock) == 0 or redis.call('SREM', buyers, user) == 0 then
    return false
  end
  redis.call('INCR', stock)
  return true
end
