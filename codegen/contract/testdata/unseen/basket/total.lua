--- Adds up a cart at the prices that the caller knows; writes nothing.
---
--- Products without a price are not counted, and unpriced says how many there are.
--- @flags  no-writes
--- @key    lines       hash[lines]                   pieces by product
--- @arg    prices      group[1..100]                 what a piece costs, each product once
--- @arg    prices.name text[32]                      the product
--- @arg    prices.each micros[0..10000000000]        price of a piece
--- @arg    off         count[0..90]=0                percent off
--- @must   prices differ in name
--- @result total       micros                        what the cart costs, rounded down to a millionth
--- @result pieces      count[0..9999]                pieces that are in total
--- @result unpriced    count[0..101]                 products without a price
local function total(lines, prices, off)
  local names = {}
  for i = 1, #prices do
    names[i] = prices[i].name
  end
  local found = redis.call('HMGET', lines, unpack(names))
  local sum_micros, pieces, priced = 0, 0, 0
  for i = 1, #names do
    local here = math.min(tonumber(found[i]) or 0, 99)
    if found[i] then
      priced = priced + 1
      pieces = pieces + here
      sum_micros = sum_micros + here * prices[i].each_micros
    end
  end
  local unpriced = redis.call('HLEN', lines) - priced
  return math.floor(sum_micros * (100 - off) / 100), pieces, math.min(math.max(unpriced, 0), 101)
end
