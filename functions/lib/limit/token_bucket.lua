--- A token bucket as a kind of limit, by the generic cell rate algorithm (ITU-T I.371): exact over the long run.
---
--- The level is the time until the bucket is full, in the algorithm's words until the theoretical arrival time. Each token that is taken
--- adds period / limit to it, and it sinks as time passes. It is counted in whole microseconds and 1/limit of one, so nothing is ever
--- rounded. The key expires when the bucket is full, rounded up to a millisecond, and its value says how much earlier that is. If the
--- clock is set back, the bucket stands still for that long.
--- @use clock refusal
--- @lib token_bucket
--- @state gcra 1 '<how much before the key expires it is full, in 1/limit of a microsecond> <limit> <milliseconds in which an empty one
---     fills>', of the call that wrote it: '0 100 60000'
local token_bucket = {redis_type = 'string', weighted = true}

local exact = 9007199254740992

-- Returns the level that tokens add: whole microseconds, and a part.
local function span(row, tokens)
  if row.rest_us == 0 then
    return tokens * row.interval_us, 0
  end
  local parts = tokens * row.rest_us
  local part = parts % row.parts
  return tokens * row.interval_us + (parts - part) / row.parts, part
end

local function divisor(one, other)
  while other > 0 do
    local rest = one % other
    one = other
    other = rest
  end
  return one
end

local function milliseconds(us, part)
  return math.ceil((part > 0 and us + 1 or us) / 1000)
end

-- A token adds interval_us + rest_us / parts. A part is part_size / limit of a microsecond: part_size is 1 unless products would pass 2^53.
-- Returns nothing or a refusal.
function token_bucket.prepare(row)
  row.most = row.burst or row.limit
  row.parts = row.limit
  row.part_size = 1
  row.rest_us = row.window_us % row.limit
  row.interval_us = (row.window_us - row.rest_us) / row.limit
  if row.most * row.rest_us >= exact then
    row.part_size = divisor(row.limit, row.window_us)
    row.parts = row.limit / row.part_size
    row.rest_us = row.rest_us / row.part_size
  end
  if row.most * row.rest_us >= exact then
    return refusal.argument('limit must divide the period more evenly: limit / period in lowest terms, times burst, is above 2^53')
  end
  row.full_us, row.full_part = span(row, row.most)
  row.capacity_ms = milliseconds(row.full_us, row.full_part)
  row.writer = string.format(' %d %d', row.limit, row.capacity_ms)
  row.whole = '0' .. row.writer
end

-- Returns the level, 0 and 0 of a full bucket, the value, and the time until the key expires; or nil and a refusal. A caller with another
-- limit sees the tokens that were taken, not the time, rounded up to a microsecond; when the key expires it sees none.
local function read(row, key)
  local stored = redis.call('GET', key)
  if not stored then
    return 0, 0
  end
  local left_us = clock.left_ms(key) * 1000
  if stored == row.whole and left_us >= 0 and not clock.is_wrong(left_us - row.capacity_ms * 1000, row.window_us) then
    return left_us, 0, stored, left_us
  end
  local early, writer = string.match(stored, '^(%d+)( %d+ %d+)$')
  local limit, capacity_ms = row.limit, row.capacity_ms
  if writer ~= row.writer then
    limit, capacity_ms = string.match(writer or '', '^ (%d+) (%d+)$')
    limit = tonumber(limit)
    capacity_ms = tonumber(capacity_ms)
  end
  early = tonumber(early)
  if left_us == -1000 or not early or limit < 1 or limit > 1000000000000 or early > 1000 * limit then
    return nil, refusal.state(key, 'holds no level of a token bucket')
  end
  if clock.is_wrong(left_us - capacity_ms * 1000, row.window_us) then
    return 0, 0
  end
  local early_us = math.ceil(early / limit)
  local level_us, part = left_us - early_us, early_us * limit - early
  if level_us < 0 then
    return 0, 0
  elseif limit == row.limit then
    return level_us, part / row.part_size, stored, left_us
  end
  return math.ceil((level_us + part / limit) * (limit / row.limit)), 0, stored, left_us
end

-- Returns how many whole tokens there are. The first guess is at most one too high.
local function tokens_left(row, level_us, part)
  local room_us, room_part = row.full_us - level_us, row.full_part - part
  if room_part < 0 then
    room_us = room_us - 1
    room_part = room_part + row.parts
  end
  if row.rest_us == 0 then
    return math.max(math.floor(room_us / row.interval_us), 0)
  end
  local tokens = math.min(math.floor((room_us + room_part / row.parts) / row.window_us * row.limit) + 1, row.most)
  while tokens > 0 do
    local us, rest = span(row, tokens)
    if us < room_us or us == room_us and rest <= room_part then
      return tokens
    end
    tokens = tokens - 1
  end
  return 0
end

function token_bucket.check(row, key, cost, _, answer)
  local level_us, part, stored, left_us = read(row, key)
  if not level_us then
    return part
  end
  local next_us, next_part = span(row, cost)
  next_us = level_us + next_us
  next_part = part + next_part
  if next_part >= row.parts then
    next_us = next_us + 1
    next_part = next_part - row.parts
  end
  answer.allowed = next_us < row.full_us or next_us == row.full_us and next_part <= row.full_part
  answer.remaining = tokens_left(row, level_us, part)
  answer.reset_after_us = math.min(milliseconds(level_us, part) * 1000, left_us or 0)
  answer.retry_after_us = 0
  if not answer.allowed then
    answer.retry_after_us = math.min(milliseconds(next_us - row.full_us, next_part - row.full_part) * 1000, left_us or 0)
  end
  answer.level_us = next_us
  answer.part = next_part
  answer.stored = stored
end

-- Stores a level, and returns the milliseconds until the bucket is full.
local function store(row, key, level_us, part, stored)
  local left_ms = milliseconds(level_us, part)
  local early = (left_ms * 1000 - level_us) * row.limit - part * row.part_size
  local value = early == 0 and row.whole or string.format('%d', early) .. row.writer
  if value == stored then
    clock.expire(key, left_ms * 1000)
  else
    clock.store(key, value, left_ms)
  end
  return left_ms
end

function token_bucket.charge(row, key, _, _, answer)
  answer.reset_after_us = store(row, key, answer.level_us, answer.part, answer.stored) * 1000
end

-- What callers with other limits took beyond empty is not stored.
function token_bucket.refund(row, key, cost)
  local level_us, part, stored = read(row, key)
  if not level_us or level_us + part == 0 then
    return false
  elseif level_us > row.full_us or level_us == row.full_us and part > row.full_part then
    level_us = row.full_us
    part = row.full_part
  end
  local back_us, back_part = span(row, cost)
  level_us = level_us - back_us
  part = part - back_part
  if part < 0 then
    level_us = level_us - 1
    part = part + row.parts
  end
  if level_us < 0 or level_us + part == 0 then
    redis.call('DEL', key)
  else
    store(row, key, level_us, part, stored)
  end
  return true
end

return token_bucket
