--- Lists the users who are in a room, the latest beat first; writes nothing.
--- @use clock
--- @flags  no-writes
--- @subject the room
--- @key    online       zset[online]               users by the time of their last beat
--- @arg    timeout      duration[5s..10m]          how long a user counts as present after a beat
--- @arg    most         count[1..50]=50            most users to list
--- @arg    except       text[64]?                  a user who is left out, such as the one who asks
--- @result users        group[0..50]               who is there
--- @result users.user   text[64]                   the user
--- @result users.ago    duration                   how long ago the last beat was
--- @result more         bool                       whether more are there
local function who(online, timeout_us, most, except)
  local now_us = clock.now_us()
  local since = '(' .. string.format('%.0f', now_us - timeout_us)
  local found = redis.call('ZREVRANGEBYSCORE', online, '+inf', since, 'WITHSCORES', 'LIMIT', 0, most + 2)
  local rows, more = {}, false
  for i = 1, #found, 2 do
    if found[i] ~= except then
      local last_us = tonumber(found[i + 1]) or now_us
      rows[#rows + 1] = {user = found[i], ago_us = math.max(now_us - last_us, 0)}
      if #rows > most then
        more = true
        break
      end
    end
  end
  return rows, more
end
