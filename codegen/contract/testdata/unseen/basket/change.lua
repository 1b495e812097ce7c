--- Sets how many pieces of a product are in a cart; 0 removes it. A product that is not in the cart is not added.
--- @use clock
--- @key    lines       hash[lines]              pieces by product
--- @arg    product     text[32]                 the product
--- @arg    pieces      count[0..99]             how many
--- @arg    keep        duration[10m..90d]=30d   how long the cart is kept without a change, at least
--- @result found       bool                     whether the product was in the cart
--- @result before      count[0..99]             pieces before the call
--- @result empty       bool                     whether the cart is empty after the call
--- @refused found
local function change(lines, product, pieces, keep_us)
  local text = redis.call('HGET', lines, product)
  if not text then
    return false, 0, redis.call('EXISTS', lines) == 0
  end
  local before = math.min(tonumber(text) or 0, 99)
  if pieces > 0 then
    redis.call('HSET', lines, product, pieces)
  else
    redis.call('HDEL', lines, product)
  end
  local empty = redis.call('HLEN', lines) == 0
  if not empty then
    clock.extend(lines, keep_us)
  end
  return true, before, empty
end
