--- Creates a voucher. One that can be redeemed stays as it is, and so does one that has ended, unless it is renewed.
---
--- Who has redeemed a voucher cannot redeem it when it is renewed, as long as that is known.
--- @use clock
--- @key    voucher     hash[voucher] forever   'left' how often it can be redeemed, 'percent' what it takes off, 'ends' when it ends
--- @arg    times       count[1..1000000]       how often it can be redeemed
--- @arg    percent     count[1..90]            percent off
--- @arg    lasts       duration[1h..366d]      how long it can be redeemed
--- @arg    renew       bool=false              whether one that has ended is created anew
--- @result outcome     enum(created,renewed,open,ended) open: there is one. ended: there was one
--- @result left        count[0..1000000]       how often it can be redeemed now
--- @result expires_after duration              how long it can be redeemed; 0 if it has ended
--- @refused outcome open ended
local function create(voucher, times, percent, lasts_us, renew)
  local now_us = clock.now_us()
  local found = redis.call('HMGET', voucher, 'left', 'ends')
  local outcome = 'created'
  if found[1] then
    local left_us = (clock.parse_us(found[2] or '0') or 0) - now_us
    if left_us > 0 then
      return 'open', math.max(math.min(tonumber(found[1]) or 0, 1000000), 0), left_us
    end
    if not renew then
      return 'ended', 0, 0
    end
    outcome = 'renewed'
  end
  redis.call('HSET', voucher, 'left', times, 'percent', percent, 'ends', clock.text(now_us + lasts_us))
  return outcome, times, lasts_us
end
