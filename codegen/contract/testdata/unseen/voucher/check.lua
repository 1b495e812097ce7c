--- Returns whether a customer could redeem a voucher; writes nothing.
--- @use clock
--- @flags  no-writes
--- @key    voucher     hash[voucher] forever   'left' how often it can be redeemed, 'percent' what it takes off, 'ends' when it ends
--- @key    used        hash[used]              when each customer redeemed it
--- @arg    customer    text[64]                who asks
--- @result outcome     enum(open,used,none_left,ended,unknown) what redeem would say, and unknown if there is no voucher
--- @result since       time?                   when the customer redeemed it
--- @result expires_after duration              how long it can be redeemed; 0 if it has ended
local function check(voucher, used, customer)
  local now_us = clock.now_us()
  local found = redis.call('HMGET', voucher, 'left', 'ends')
  if not found[1] then
    return 'unknown', nil, 0
  end
  local text = redis.call('HGET', used, customer)
  local since_us = text and clock.parse_us(text) or nil
  local left_us = math.max((clock.parse_us(found[2] or '0') or 0) - now_us, 0)
  if left_us == 0 then
    return 'ended', since_us, 0
  elseif text then
    return 'used', since_us, left_us
  elseif (tonumber(found[1]) or 0) <= 0 then
    return 'none_left', nil, left_us
  end
  return 'open', nil, left_us
end
