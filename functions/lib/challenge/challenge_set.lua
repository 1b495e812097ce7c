--- All challenges of a subject, in one hash of at most 128.
--- @use clock challenge_record
--- @lib challenge_set
local challenge_set = {}

local max_challenges, max_open = 128, 64

-- Reads all challenges as of clock_us. Returns a table: open and used, lists of records; to_delete, a list of tokens;
-- last_number, that of the latest; now_us, the later of the clock and its time; and last_us, when the last one expires. Or nil
-- and a refusal.
function challenge_set.read(key, clock_us)
  local open, used, to_delete, last_number, now_us, last_us = {}, {}, {}, 0, clock_us, clock_us
  local all = redis.call('HGETALL', key) -- rlfunc:ignore key-loop 128 at most
  for i = 1, #all, 2 do
    local text = all[i + 1]
    local state, expires_us, issued_us = challenge_record.read(key, text, clock_us)
    if not state then
      return nil, expires_us
    end
    if state == 'expired' then
      to_delete[#to_delete + 1] = all[i]
    else
      local number = challenge_record.number(text)
      local record = {token = all[i], text = text, expires_us = expires_us, issued_us = issued_us, number = number}
      if state == 'open' then
        open[#open + 1] = record
      else
        used[#used + 1] = record
      end
      last_number = math.max(last_number, number)
      now_us = math.max(now_us, issued_us)
      last_us = math.max(last_us, expires_us)
    end
  end
  return {open = open, used = used, to_delete = to_delete, last_number = last_number, now_us = now_us, last_us = last_us}
end

-- Returns the latest open challenge for this payload, or nil.
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

-- Stores a challenge. First it deletes expired ones and, if there is no room, the oldest: open ones above max_outstanding that
-- were issued with no higher max_outstanding, all open ones above 63, then used ones. Returns the number of open ones.
function challenge_set.add(key, set, clock_us, token, ttl_us, payload, max_outstanding)
  local to_delete, open, used, open_count = set.to_delete, set.open, set.used, #set.open
  if open_count >= max_outstanding or open_count + #used >= max_challenges then
    table.sort(open, by_number)
    table.sort(used, by_number)
  end
  for i = 1, #open do
    if open_count >= max_outstanding and (open_count >= max_open or challenge_record.max_outstanding(open[i].text) <= max_outstanding) then
      to_delete[#to_delete + 1] = open[i].token
      open_count = open_count - 1
    end
  end
  local drop_used = math.max(open_count + #used - max_challenges + 1, 0)
  for i = 1, drop_used do
    to_delete[#to_delete + 1] = used[i].token
  end
  for i = 1, #to_delete do
    redis.call('HDEL', key, to_delete[i])
  end
  local expires_us = set.now_us + ttl_us
  redis.call('HSET', key, token, challenge_record.open(expires_us, set.now_us, set.last_number + 1, max_outstanding, payload))
  clock.expire(key, math.max(set.last_us, expires_us) - clock_us)
  return open_count + 1
end

return challenge_set
