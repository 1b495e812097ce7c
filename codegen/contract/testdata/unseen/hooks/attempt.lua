--- Counts attempts to deliver a webhook, up to a limit.
---
--- Succeeding ends the count. A refused call writes nothing.
--- @use clock
--- @subject the sender
--- @key    tries       hash[tries:<id>]      'times' it was tried, 'first' and 'last' when
--- @arg    id          text[128]             the webhook
--- @arg    most        count[1..100]=10      most attempts
--- @arg    succeeded   bool=false            whether the last attempt was successful
--- @result outcome     enum(go_on,ended,too_many) ended: the count is over, because the last attempt was successful
--- @result tries       count[0..100]         attempts after the call, or before it ended
--- @result since       duration              time since the first attempt; 0 without one
--- @refused outcome too_many
local function attempt(tries, id, most, succeeded)
  local now_us = clock.now_us()
  local found = redis.call('HMGET', tries, 'times', 'first')
  local before = math.min(tonumber(found[1]) or 0, 100)
  local first_us = clock.parse_us(found[2] or '') or now_us
  local since_us = math.max(now_us - first_us, 0)
  if succeeded then
    redis.call('DEL', tries)
    return 'ended', before, since_us
  end
  if before >= most then
    return 'too_many', before, since_us
  end
  redis.call('HSETNX', tries, 'first', clock.text(now_us))
  redis.call('HSET', tries, 'times', before + 1, 'last', clock.text(now_us))
  return 'go_on', before + 1, since_us
end
