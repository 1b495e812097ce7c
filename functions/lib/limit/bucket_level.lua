--- How full a token bucket is: the time until it is full, in the words of the generic cell rate algorithm until the theoretical arrival time.
---
--- Each token that is taken adds period / limit to it, and it sinks as time passes. It is whole milliseconds, rounded up, and by how many
--- parts of one the bucket is full earlier: a token takes a whole number of parts, so nothing is ever lost.
--- @use refusal
--- @lib bucket_level
local bucket_level = {}

local function divisor(one, other)
  while other > 0 do
    local rest = one % other
    one = other
    other = rest
  end
  return one
end

-- Returns a level once so many tokens are taken: the milliseconds, and how many parts earlier.
function bucket_level.take(row, level_ms, early, tokens)
  if row.rest == 0 then
    return level_ms + tokens * row.interval_ms, early
  end
  local behind = early - tokens * row.rest
  local next_early = behind % row.parts
  return level_ms + tokens * row.interval_ms + (next_early - behind) / row.parts, next_early
end

-- A millisecond has `parts`, each of which is `part` times 1/limit of a microsecond. A token takes interval_ms and `rest` parts, or `token`
-- parts, and an empty bucket is at full_ms and full_early. Returns nothing or a refusal.
function bucket_level.prepare(row)
  row.most = row.burst or row.limit
  row.part = divisor(row.limit, row.window_us)
  row.parts = 1000 * row.limit / row.part
  row.token = row.window_us / row.part
  row.rest = row.token % row.parts
  row.interval_ms = (row.token - row.rest) / row.parts
  if row.most * row.rest >= 9007199254740992 then
    return refusal.argument('limit must divide the period more evenly: limit / period in lowest terms, times burst, is too large to be counted exactly')
  end
  row.full_ms, row.full_early = bucket_level.take(row, 0, 0, row.most)
end

-- Reports whether a level is at most that of an empty bucket.
function bucket_level.fits(row, level_ms, early)
  return level_ms < row.full_ms or level_ms == row.full_ms and early >= row.full_early
end

-- Returns how many whole tokens there are. A bucket of so many parts that they are no exact number starts with a guess that is at most one
-- too high.
function bucket_level.tokens_left(row, level_ms, early)
  local room_ms = row.full_ms - level_ms
  local room = room_ms * row.parts + early - row.full_early
  local tokens = room / row.token
  tokens = tokens - tokens % 1
  if room > 9007199254740992 then
    tokens = math.min(tokens + 1, row.most)
    while tokens > 0 and not bucket_level.fits(row, bucket_level.take(row, level_ms, early, tokens)) do
      tokens = tokens - 1
    end
  end
  return tokens > 0 and tokens or 0
end

-- Returns how long until a level fits, in milliseconds, rounded up.
function bucket_level.wait_ms(row, level_ms, early)
  return level_ms - row.full_ms + (early < row.full_early and 1 or 0)
end

-- Returns the level at which the bucket has lost as many tokens as a caller with another limit sees lost at its own, rounded up to a
-- microsecond. early is in 1/limit of a microsecond of that limit.
function bucket_level.of_limit(row, limit, level_ms, early)
  local early_us = math.ceil(early / limit)
  local level_us = math.ceil((level_ms * 1000 - early_us + (early_us * limit - early) / limit) * (limit / row.limit))
  local own_ms = math.ceil(level_us / 1000)
  return own_ms, (own_ms * 1000 - level_us) * row.parts / 1000
end

return bucket_level
