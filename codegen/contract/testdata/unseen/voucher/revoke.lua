--- Takes back a redemption, as when an order is cancelled: the customer may redeem the voucher again.
--- @key    voucher     hash[voucher] forever   'left' how often it can be redeemed, 'percent' what it takes off, 'ends' when it ends
--- @key    used        hash[used]              when each customer redeemed it
--- @arg    customer    text[64]                who redeemed it
--- @result revoked     bool                    false: the customer has not redeemed it
--- @result left        count[0..1000000]       how often it can be redeemed after the call
--- @refused revoked
--- @error  RLSTATE                             the voucher is unreadable
--- @use refusal
local function revoke(voucher, used, customer)
  local text = redis.call('HGET', voucher, 'left')
  local left = tonumber(text or '0')
  if not left or left < 0 or left % 1 ~= 0 then
    return nil, refusal.state(voucher, 'holds no voucher')
  end
  left = math.min(left, 1000000)
  if not text or redis.call('HEXISTS', used, customer) == 0 then
    return false, left
  end
  redis.call('HDEL', used, customer)
  local after = math.max(math.min(left - 1, 1000000), 0)
  redis.call('HSET', voucher, 'left', after)
  return true, after
end
