--- All challenges of a subject, in one hash of at most 128.
--- @use clock challenge_record
--- @lib challenge_set
local challenge_set = {}

local most, most_open = 128, 64

-- Reads all as a call at clock_us sees them: a table of open and used, each a list of records; gone, a list of tokens; the
-- number of the latest; now_us, the later of the clock and its time; and last_us, when the last one expires. Or nil and a
-- refusal.
function challenge_set.read(key, clock_us)
  local open, used, gone, latest, now_us, last_us = {}, {}, {}, 0, clock_us, clock_us
  local all = redis.call('HGETALL', key) -- rlfunc:ignore key-loop 128 at most
  for i = 1, #all, 2 do
    local text = all[i + 1]
    local state, expires_us, issued_us = challenge_record.read(key, text, clock_us)
    if not state then
      return nil, expires_us
    end
    if state == 'gone' then
      gone[#gone + 1] = all[i]
    else
      local number = challenge_record.number(text)
      local record = {token = all[i], text = text, expires_us = expires_us, issued_us = issued_us, number = number}
      if state == 'open' then
        open[#open + 1] = record
      else
        used[#used + 1] = record
      end
      latest = math.max(latest, number)
      now_us = math.max(now_us, issued_us)
      last_us = math.max(last_us, expires_us)
    end
  end
  return {open = open, used = used, gone = gone, latest = latest, now_us = now_us, last_us = last_us}
end

-- The open challenge that was issued last for this payload, or nil.
function challenge_set.last_for(set, payload)
  local last
  for i = 1, #set.open do
    local record = set.open[i]
    if challenge_record.payload(record.text) == payload and (not last or record.number > last.number) then
      last = record
    end
  end
  return last
end

local function by_number(one, other)
  return one.number < other.number
end

-- Stores one more. First go those whose time is over, and where there is no room the oldest: open ones above max_outstanding
-- whose issuer allows no more than this, all open ones above 63, then used ones. Returns how many are open then.
function challenge_set.add(key, set, clock_us, token, ttl_us, payload, max_outstanding)
  local gone, open, used, left = set.gone, set.open, set.used, #set.open
  if left >= max_outstanding or left + #used >= most then
    table.sort(open, by_number)
    table.sort(used, by_number)
  end
  for i = 1, #open do
    if left >= max_outstanding and (left >= most_open or challenge_record.most(open[i].text) <= max_outstanding) then
      gone[#gone + 1] = open[i].token
      left = left - 1
    end
  end
  local drop_used = math.max(left + #used - most + 1, 0)
  for i = 1, drop_used do
    gone[#gone + 1] = used[i].token
  end
  for i = 1, #gone do
    redis.call('HDEL', key, gone[i])
  end
  local expires_us = set.now_us + ttl_us
  redis.call('HSET', key, token, challenge_record.open(expires_us, set.now_us, set.latest + 1, max_outstanding, payload))
  clock.expire(key, math.max(set.last_us, expires_us) - clock_us)
  return left + 1
end

return challenge_set
