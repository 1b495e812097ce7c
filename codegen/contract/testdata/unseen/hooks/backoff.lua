--- Counts that handling a webhook failed, and says when to try again: after first, twice that, and so on, up to longest.
---
--- After most failures it is given up, and forgotten. A call before the time to try again is an echo of the same failure, and counts
--- nothing.
--- @use clock
--- @subject the sender
--- @key    failed      hash[failed:<id>]     'times' it failed and 'next' when to try again
--- @arg    id          text[128]             the webhook
--- @arg    most        count[1..20]=8        failures after which it is given up
--- @arg    first       duration[1s..1m]=5s   wait after the first failure
--- @arg    longest     duration[1m..1d]=1h   longest wait
--- @result outcome     enum(again,given_up,early) early: it is not yet time to try again
--- @result times       count[1..20]          how often it has failed
--- @result retry_after duration              wait until the next try; 0 if given up
local function backoff(failed, id, most, first_us, longest_us)
  local now_us = clock.now_us()
  local found = redis.call('HMGET', failed, 'times', 'next')
  local times = math.min(tonumber(found[1]) or 0, 20)
  local wait_us = (clock.parse_us(found[2] or '0') or 0) - now_us
  if times > 0 and wait_us > 0 and wait_us <= 86400000000 then
    return 'early', times, wait_us
  end
  times = times + 1
  if times >= most then
    redis.call('DEL', failed)
    return 'given_up', math.min(times, 20), 0
  end
  local pause_us = math.min(first_us * 2 ^ (times - 1), longest_us)
  redis.call('HSET', failed, 'times', times, 'next', clock.text(now_us + pause_us))
  clock.expire(failed, pause_us + 86400000000)
  return 'again', times, pause_us
end
