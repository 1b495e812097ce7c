--- Adds to a stock that lasts, and to one that expires.
--- @key    stock       hash[stock] forever                 how much there is, by name
--- @key    recent      string[recent]                      how much was added lately
--- @arg    name        text[16]                            what is added
--- @arg    amount      count[1..1000]                      how much
--- @arg    lots        group[0..4]                         lots
--- @arg    lots.name   text[16]                            the lot's name
--- @key    lots.left   string[left:<name>] forever         what is left of it
--- @result stock       count                               how much there is after the call
local function keep(stock, recent, name, amount, lots, lots_left)
  for i = 1, #lots do
    redis.call('INCRBY', lots_left[i], amount)
  end
  redis.call('SET', recent, amount, 'PX', 60000)
  return redis.call('HINCRBY', stock, name, amount)
end
