--- Keeps a new code for a user, unless the last one was issued a moment ago. A new code replaces the last one.
---
--- A refused call writes nothing.
--- @use clock
--- @subject the user
--- @key    code        hash[code]              'code', the 'tries' that are left, and 'issued', when it was issued
--- @arg    digits      text[4..10]             the code
--- @arg    tries       count[1..10]=5          how often it can be tried
--- @arg    lasts       duration[1m..1h]=10m    how long it can be tried
--- @arg    pause       duration[0us..1m]=30s   least time since the last one was issued
--- @result allowed     bool                    whether it is kept
--- @result replaced    bool                    whether it replaces a code that could be tried
--- @result retry_after duration                wait until a code can be issued; 0 when allowed
local function issue(code, digits, tries, lasts_us, pause_us)
  local now_us = clock.now_us()
  local found = redis.call('HMGET', code, 'issued', 'tries', 'code')
  local issued_us = clock.parse_us(found[1] or '')
  if issued_us and issued_us <= now_us and now_us - issued_us < pause_us then
    return false, false, pause_us - (now_us - issued_us)
  end
  local replaced = found[3] ~= false and (tonumber(found[2]) or 0) > 0
  redis.call('DEL', code)
  redis.call('HSET', code, 'code', digits, 'tries', tries, 'issued', clock.text(now_us))
  clock.expire(code, lasts_us)
  return true, replaced, 0
end
