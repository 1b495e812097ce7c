--- Returns how a user's code stands; writes nothing.
--- @use clock
--- @flags  no-writes
--- @subject the user
--- @key    code          hash[code]         'code', the 'tries' that are left, and 'issued', when it was issued
--- @result usable        bool               whether there is a code that can be tried
--- @result tries         count[0..10]       tries that are left
--- @result age           duration?          how long ago it was issued; none without a code
--- @result expires_after duration           how long it can be tried, to the millisecond
local function status(code)
  local found = redis.call('HMGET', code, 'code', 'tries', 'issued')
  if not found[1] then
    return false, 0, nil, 0
  end
  local tries = math.min(math.max(tonumber(found[2]) or 0, 0), 10)
  local issued_us = clock.parse_us(found[3] or '')
  local age_us
  if issued_us then
    age_us = math.max(clock.now_us() - issued_us, 0)
  end
  local left_us = math.max(clock.left_ms(code), 0) * 1000
  if tries == 0 then
    left_us = 0
  end
  return tries > 0, tries, age_us, left_us
end
