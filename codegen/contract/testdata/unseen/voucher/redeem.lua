--- Redeems a voucher for a customer, who can redeem it once.
---
--- A refused call writes nothing.
--- @use clock
--- @key    voucher     hash[voucher] forever   'left' how often it can be redeemed, 'percent' what it takes off, 'ends' when it ends
--- @key    used        hash[used]              when each customer redeemed it
--- @arg    customer    text[64]                who redeems it
--- @arg    keep        duration[1d..366d]      how long it is known who has redeemed it, at least
--- @result outcome     enum(redeemed,used,none_left,ended) used: by this customer. ended: it is over, or was never there
--- @result percent     count[0..100]           percent off; 0 when refused
--- @result left        count[0..1000000]       how often it can be redeemed after the call
--- @refused outcome used none_left ended
local function redeem(voucher, used, customer, keep_us)
  local now_us = clock.now_us()
  local found = redis.call('HMGET', voucher, 'left', 'percent', 'ends')
  local left = math.max(math.min(tonumber(found[1]) or 0, 1000000), 0)
  local percent = tonumber(found[2]) or 0
  local ends_us = clock.parse_us(found[3] or '0') or 0
  if now_us >= ends_us then
    return 'ended', 0, left
  end
  if left == 0 and redis.call('HEXISTS', used, customer) == 0 then
    return 'none_left', 0, 0
  end
  if redis.call('HSETNX', used, customer, clock.text(now_us)) then
    redis.call('HSET', voucher, 'left', left - 1)
    clock.extend(used, keep_us)
    return 'redeemed', percent, left - 1
  end
  return 'used', 0, left
end
