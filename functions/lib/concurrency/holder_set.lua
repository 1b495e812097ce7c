--- The holders of a subject: a sorted set of 'lease:<holder>' by the time when its lease ends.
---
--- A holder of several places also has 'weight:<holder>', and 'extra' is what leases take beyond one place each. Their scores are negative,
--- so a range of times has leases alone. If the clock is set back, leases last that much longer; those that were removed stay ended.
--- @use clock
--- @lib holder_set
--- @state holders 2 'lease:<holder>' by the end of its lease; 'weight:<holder>' and 'extra' by their numbers, negative
local holder_set = {}

-- How long the key outlives its last lease, and so does the last fence: a lease is removed together with its fence.
holder_set.keep_us = 3600000000

-- Returns a stored number, 0 if there is none. A score that no call has stored is made a whole number.
local function whole(score)
  return score and math.min(math.floor(math.abs(tonumber(score) or 9007199254740992)), 9007199254740992) or 0
end

local function weight_of(key, holder)
  return math.max(whole(redis.call('ZSCORE', key, 'weight:' .. holder)), 1)
end

-- Returns when the holder's lease ends, 0 if it has none.
function holder_set.ends_us(key, holder, now_us)
  local ends_us = whole(redis.call('ZSCORE', key, 'lease:' .. holder))
  return ends_us > now_us and ends_us or 0
end

-- Returns the leases that have not ended in the order of their ends, at most `most` after the first `skipped`.
function holder_set.leases(key, now_us, skipped, most)
  local found, rows = redis.call('ZRANGEBYSCORE', key, '(' .. clock.text(now_us), '+inf', 'WITHSCORES', 'LIMIT', skipped, most), {}
  for i = 1, #found, 2 do
    local holder = string.sub(found[i], 7)
    rows[#rows + 1] = {holder = holder, weight = weight_of(key, holder), expires_after_us = whole(found[i + 1]) - now_us}
  end
  return rows
end

-- Returns a table with in_use, what of it is beyond one place for each lease (extra), and the holders that an acquisition removes (ended).
function holder_set.count(key, now_us)
  local set, members = {key = key, now_us = now_us, in_use = 0, extra = 0, stored_extra = 0, ended = {}}, redis.call('ZCARD', key)
  if members == 0 then
    return set
  end
  local now, extra = clock.text(now_us), 0
  local leases = redis.call('ZCOUNT', key, '(' .. now, '+inf')
  if members > leases then
    extra = whole(redis.call('ZSCORE', key, 'extra'))
    set.stored_extra = extra
    -- at most 100 of the leases that have ended, or all of them if a holder has several places
    set.ended = redis.call('ZRANGEBYSCORE', key, '1', now, 'LIMIT', '0', extra > 0 and '-1' or '100')
  end
  for i = 1, #set.ended do
    set.ended[i] = string.sub(set.ended[i], 7)
    extra = extra > 0 and extra - weight_of(key, set.ended[i]) + 1 or 0
  end
  set.extra = extra
  set.in_use = leases + extra
  return set
end

-- Returns how long it takes until this many of the places in use are free, if no holder releases or renews.
local function wait_us(set, places)
  local skipped, wait = set.extra == 0 and places - 1 or 0, 0
  local rows = holder_set.leases(set.key, set.now_us, skipped, places - skipped)
  for i = 1, #rows do
    wait = places > skipped and rows[i].expires_after_us or wait
    places = places - rows[i].weight
  end
  return wait
end

-- Checks whether a holder gets its place, which it does if it has it. Adds to what count returns allowed, wait_us, left (the places that are
-- free without the call) and own_ends_us, 0 without a place.
function holder_set.check(key, holder, weight, limit, now_us)
  local set = holder_set.count(key, now_us)
  local above = set.in_use + weight - limit
  set.own_ends_us = set.in_use > 0 and holder_set.ends_us(key, holder, now_us) or 0
  set.left = math.max(limit - set.in_use, 0)
  set.allowed = set.own_ends_us > 0 or above <= 0
  set.wait_us = set.allowed and 0 or wait_us(set, above)
  return set
end

-- Lets a lease that lasts end later.
function holder_set.extend(key, holder, ends_us, now_us)
  redis.call('ZADD', key, string.format('%d', ends_us), 'lease:' .. holder)
  clock.extend(key, ends_us - now_us + holder_set.keep_us)
end

-- Gives a holder that check allowed its place.
function holder_set.add(set, holder, weight, ends_us)
  for i = 1, #set.ended do
    redis.call('ZREM', set.key, 'lease:' .. set.ended[i], 'weight:' .. set.ended[i])
  end
  if set.in_use > 0 then
    holder_set.extend(set.key, holder, ends_us, set.now_us)
  else -- the key may be new
    redis.call('ZADD', set.key, string.format('%d', ends_us), 'lease:' .. holder)
    clock.expire(set.key, ends_us - set.now_us + holder_set.keep_us)
  end
  if weight > 1 then
    redis.call('ZADD', set.key, 0 - weight, 'weight:' .. holder)
  end
  if set.extra + weight - 1 ~= set.stored_extra then
    redis.call('ZADD', set.key, 1 - weight - set.extra, 'extra')
  end
end

-- Ends the lease of a holder.
function holder_set.remove(key, holder)
  local weight = weight_of(key, holder)
  redis.call('ZREM', key, 'lease:' .. holder, 'weight:' .. holder)
  if weight > 1 then
    redis.call('ZINCRBY', key, weight - 1, 'extra')
  end
end

return holder_set
