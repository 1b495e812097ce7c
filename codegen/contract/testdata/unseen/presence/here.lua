--- Returns how many users are in a room, and whether a certain one is; writes nothing.
--- @use clock
--- @flags  no-writes
--- @subject the room
--- @key    online      zset[online]         users by the time of their last beat
--- @arg    user        text[64]?            a user who is looked for
--- @arg    timeout     duration[5s..10m]    how long a user counts as present after a beat
--- @result present     count[0..1000000]    users who are present
--- @result is_here     bool                 whether the user is one of them; false without a user
--- @result seen_ago    duration?            how long ago the user's last beat was; none if it is not known
local function here(online, user, timeout_us)
  local now_us = clock.now_us()
  local since_us = now_us - timeout_us
  local present = redis.call('ZCOUNT', online, '(' .. string.format('%.0f', since_us), '+inf')
  present = math.min(present, 1000000)
  if not user then
    return present, false, nil
  end
  local last_us = tonumber(redis.call('ZSCORE', online, user))
  if not last_us then
    return present, false, nil
  end
  return present, last_us > since_us, math.max(now_us - last_us, 0)
end
