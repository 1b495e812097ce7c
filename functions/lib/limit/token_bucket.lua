--- A token bucket as a kind of limit, by the generic cell rate algorithm (ITU-T I.371): exact over the long run.
---
--- The key expires when the bucket is full, so its expiry is the clock, and its value says how much less than a millisecond earlier that is.
--- If the clock is set back, the bucket stands still for that long.
--- @use clock refusal bucket_level
--- @lib token_bucket
--- @state gcra 1 '<how much before the key expires it is full, in 1/limit of a microsecond> <limit> <milliseconds in which an empty one
---     fills>', of the call that wrote it: '0 100 60000'
local token_bucket = {redis_type = 'string', weighted = true}

function token_bucket.prepare(row)
  local failure = bucket_level.prepare(row)
  if failure then
    return failure
  end
  row.writer = string.format(' %d %d', row.limit, row.full_ms)
  row.whole = '0' .. row.writer
end

-- Returns the level, 0 and 0 of a full bucket; the value; and how long the key has left. Or nil and a refusal. A caller with another limit
-- sees the tokens that were taken, not the time; when the key expires it sees none.
local function read(row, key)
  local stored = redis.call('GET', key)
  if not stored then
    return 0, 0, nil, 0
  end
  local left_ms, early, limit, full_ms = clock.left_ms(key), 0, row.limit, row.full_ms
  if stored ~= row.whole then
    local before, writer = string.match(stored, '^(%d+)( %d+ %d+)$')
    if writer ~= row.writer then
      limit, full_ms = string.match(writer or ' 0 0', '(%d+) (%d+)')
      limit = limit + 0
    end
    early = before and before + 0
    if not early or limit < 1 or limit > 1000000000000 or early > 1000 * limit then
      return nil, refusal.state(key, 'holds no level of a token bucket')
    end
  end
  if left_ms == -1 then
    return nil, refusal.state(key, 'holds a token bucket that never expires')
  elseif left_ms <= 0 or clock.is_wrong((left_ms - full_ms) * 1000, row.window_us) then
    return 0, 0, nil, 0
  elseif limit == row.limit then
    return left_ms, early / row.part, stored, left_ms
  end
  local level_ms, own_early = bucket_level.of_limit(row, limit, left_ms, early)
  return level_ms, own_early, stored, left_ms
end

function token_bucket.check(row, key, cost, _, answer)
  local level_ms, early, stored, left_ms = read(row, key)
  if not level_ms then
    return early
  end
  local next_ms, next_early = bucket_level.take(row, level_ms, early, cost)
  answer.allowed = bucket_level.fits(row, next_ms, next_early)
  answer.remaining = bucket_level.tokens_left(row, level_ms, early)
  answer.reset_after_us = (level_ms < left_ms and level_ms or left_ms) * 1000
  answer.retry_after_us = answer.allowed and 0 or math.min(bucket_level.wait_ms(row, next_ms, next_early), left_ms) * 1000
  answer.level_ms = next_ms
  answer.early = next_early
  answer.stored = stored
end

local function store(row, key, level_ms, early, stored)
  if early > 0 then
    clock.store(key, string.format('%d', early * row.part) .. row.writer, level_ms)
  elseif stored == row.whole then
    clock.expire(key, level_ms * 1000)
  else
    clock.store(key, row.whole, level_ms)
  end
end

function token_bucket.charge(row, key, _, _, answer)
  store(row, key, answer.level_ms, answer.early, answer.stored)
  answer.reset_after_us = answer.level_ms * 1000
end

-- What callers with other limits took beyond empty is not stored.
function token_bucket.refund(row, key, cost)
  local level_ms, early, stored = read(row, key)
  if not level_ms or level_ms == 0 then
    return false
  elseif not bucket_level.fits(row, level_ms, early) then
    level_ms = row.full_ms
    early = row.full_early
  end
  local next_ms, next_early = bucket_level.take(row, level_ms, early, -cost)
  if next_ms <= 0 then
    redis.call('DEL', key)
  else
    store(row, key, next_ms, next_early, stored)
  end
  return true
end

return token_bucket
