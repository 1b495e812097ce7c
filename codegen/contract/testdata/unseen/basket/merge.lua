--- Merges the cart of a session into the customer's cart, after a login: pieces add up to at most 99.
---
--- Products beyond the 100th stay out, and skipped says how many.
--- @use clock
--- @subject the customer
--- @key    lines       hash[lines]              pieces by product
--- @key    guest       hash[guest:<session>]    pieces by product, of the session
--- @arg    session     text[64]                 the session that logged in
--- @arg    keep        duration[10m..90d]=30d   how long the cart is kept without a change, at least
--- @result merged      count[0..101]            products that came from the session
--- @result skipped     count[0..101]            products that found no place
local function merge(lines, guest, session, keep_us)
  local found = redis.call('HGETALL', guest)
  local products = redis.call('HLEN', lines)
  local merged, skipped = 0, 0
  for i = 1, math.min(#found, 202), 2 do
    local product, more = found[i], tonumber(found[i + 1]) or 0
    local text = redis.call('HGET', lines, product)
    if text or products < 100 then
      if not text then
        products = products + 1
      end
      redis.call('HSET', lines, product, math.min((tonumber(text) or 0) + more, 99))
      merged = merged + 1
    else
      skipped = skipped + 1
    end
  end
  if merged > 0 then
    clock.extend(lines, keep_us)
  end
  return merged, skipped
end
