--- Says that a user is in a room, until the next beat is overdue. A room that is full admits nobody else.
---
--- A refused call writes nothing.
--- @use clock
--- @subject the room
--- @key    online      zset[online]            users by the time of their last beat
--- @arg    user        text[64]                who is there
--- @arg    timeout     duration[5s..10m]       how long a user counts as present after a beat
--- @arg    most        count[1..10000]=500     most users of the room
--- @result allowed     bool                    false: the room is full, and the user was not there before
--- @result entered     bool                    whether the user was not present before
--- @result present     count[0..1000000]       users who are present after the call
local function beat(online, user, timeout_us, most)
  local now_us = clock.now_us()
  local since_us = now_us - timeout_us
  local present = redis.call('ZCOUNT', online, string.format('(%.0f', since_us), '+inf')
  local last_us = tonumber(redis.call('ZSCORE', online, user)) or 0
  local entered = last_us <= since_us
  if entered then
    if present >= most then
      return false, false, math.min(present, 1000000)
    end
    present = present + 1
  end
  redis.call('ZADD', online, clock.text(now_us), user)
  clock.extend(online, timeout_us)
  return true, entered, math.min(present, 1000000)
end
