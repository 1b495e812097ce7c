--- Puts pieces of a product into a cart. A cart has at most 100 products, each of at most 99 pieces.
---
--- A refused call writes nothing.
--- @use clock
--- @key    lines       hash[lines]              pieces by product
--- @arg    product     text[32]                 the product
--- @arg    pieces      count[1..99]=1           how many more
--- @arg    keep        duration[10m..90d]=30d   how long the cart is kept without a change, at least
--- @result outcome     enum(added,too_many,full) too_many: more than 99 pieces. full: 100 products are in the cart
--- @result pieces      count[0..99]             pieces of the product in the cart after the call
--- @result products    count[0..100]            products in the cart after the call
--- @refused outcome too_many full
local function put(lines, product, pieces, keep_us)
  local most_lines, most_pieces = 100, 99
  local products = redis.call('HLEN', lines)
  local found = redis.call('HGET', lines, product)
  local before = tonumber(found) or 0
  if before + pieces > most_pieces then
    return 'too_many', before, products
  end
  if not found then
    if products > most_lines then
      return 'full', 0, products
    end
    products = products + 1
  end
  redis.call('HSET', lines, product, before + pieces)
  clock.extend(lines, keep_us)
  return 'added', before + pieces, products
end
