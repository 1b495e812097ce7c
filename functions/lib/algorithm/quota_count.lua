--- A quota in one string: a period of the calendar and its use. The key expires with the period.
---
--- Callers with other periods may share the key, which then holds several: a charge counts in all that have not ended. A period that is
--- new to the key begins with the greatest use of those: all of it if that one began no earlier, otherwise its share by time. The period of
--- the last admitted caller is first; a ninth replaces the last of eight.
--- @use clock refusal whole_number
--- @lib quota_count
--- @state quota_count 1 '<start> <end> <used>' of each period, joined by ';': when it starts and ends, in microseconds, and its use
local quota_count = {}

local max_periods = 8
local max_used = 9007199254740991

-- Returns the beginning of a period's text, which its use follows.
local function prefix(start_us, end_us)
  return string.format('%.0f %.0f ', start_us, end_us)
end

local function text(periods)
  local parts = {}
  for i = 1, #periods do
    local period = periods[i]
    parts[i] = prefix(period.start_us, period.end_us) .. string.format('%.0f', period.used)
  end
  return table.concat(parts, ';')
end

-- Parses the periods; nil if the value is invalid.
local function parse(stored)
  local periods = {}
  if #stored > 51 * max_periods then
    return nil
  end
  for start, stop, used in string.gmatch(stored, '(%d+) (%d+) (%d+)') do
    local period = {start_us = tonumber(start) or 0, end_us = tonumber(stop) or 0, used = tonumber(used) or 0}
    if period.start_us >= period.end_us or period.end_us > 9007199254740992 or period.used > max_used then
      return nil
    end
    periods[#periods + 1] = period
  end
  if #periods == 0 or #periods > max_periods or text(periods) ~= stored then
    return nil
  end
  return periods
end

-- Returns what counts at a time of a period that starts at start_us, and that end_us names if it is known.
local function used_at(periods, start_us, end_us, at_us)
  local most = 0
  for i = 1, #periods do
    local period = periods[i]
    if period.start_us == start_us and period.end_us == end_us then
      return period.used, true
    end
    if period.end_us > at_us then
      local used = period.used
      if period.start_us < start_us then
        used = math.ceil(used * ((at_us - start_us) / (at_us - period.start_us)))
      end
      most = math.max(most, used)
    end
  end
  return most, false
end

-- Returns the boundaries of three periods, which ascend, as a table, with the beginnings of their texts if they will be used again.
function quota_count.boundaries(previous_us, start_us, next_us, after_us, again)
  local boundaries = {previous_us, start_us, next_us, after_us}
  if again then
    boundaries.prefixes = {prefix(previous_us, start_us), prefix(start_us, next_us), prefix(next_us, after_us)}
  end
  return boundaries
end

-- Returns which of the periods contains a time that is not before them: 4 if it is after them.
local function place_at(boundaries, at_us)
  local place = 1
  while place < 4 and boundaries[place + 1] <= at_us do
    place = place + 1
  end
  return place
end

-- Reads the period that contains now_us. Returns its place among the boundaries, its use, whether the key has it, and all periods if the
-- key has others; or nil and a refusal.
local function read(key, boundaries, now_us)
  local place = place_at(boundaries, now_us)
  if now_us < boundaries[1] then
    return nil, refusal.argument("previous must not be after the server's time: the caller's clock is more than a period ahead of it")
  end
  if place == 4 then
    return nil, refusal.argument("after must be after the server's time: the caller's clock is more than a period behind it")
  end
  local stored = redis.call('GET', key)
  if not stored then
    return place, 0, false
  end
  local start_us, end_us = boundaries[place], boundaries[place + 1]
  local own = boundaries.prefixes and boundaries.prefixes[place] or prefix(start_us, end_us)
  local used = string.sub(stored, 1, #own) == own and whole_number.parse(string.sub(stored, #own + 1), max_used)
  if used then
    return place, used, true
  end
  local periods = parse(stored)
  if not periods then
    return nil, refusal.state(key, 'holds no use of periods')
  end
  local known
  used, known = used_at(periods, start_us, end_us, now_us)
  return place, used, known, periods
end

-- Returns the time until at most room is used: at an end of one of the periods or at a boundary, because use by time only grows between
-- them. Without other periods that is the period's end.
local function wait_us(periods, boundaries, place, room, now_us)
  if not periods then
    return boundaries[place + 1] - now_us
  end
  local first_us = boundaries[4]
  for i = place + 1, 3 + #periods do
    local at_us = boundaries[i]
    if i > 3 then
      at_us = periods[i - 3].end_us
    end
    if at_us > now_us and at_us < first_us then
      local later = place_at(boundaries, at_us)
      if used_at(periods, boundaries[later], boundaries[later + 1], at_us) <= room then
        first_us = at_us
      end
    end
  end
  return first_us - now_us
end

-- Checks a call of that cost. Returns allowed, what is left without it, the time until the period ends, 0 without use, the wait until
-- cost is allowed, and what charge needs: place, use and other periods. Or nil and a refusal.
function quota_count.check(key, limit, boundaries, cost, now_us)
  local place, used, _, periods = read(key, boundaries, now_us)
  if not place then
    return nil, used
  end
  local end_us = 0
  if used > 0 then
    end_us = boundaries[place + 1] - now_us
  end
  if used + cost <= limit then
    return true, limit - used, end_us, 0, place, used, periods
  end
  local wait = wait_us(periods, boundaries, place, limit - cost, now_us)
  return false, math.max(limit - used, 0), math.max(end_us, wait), wait, place, used, periods
end

-- Stores the caller's period with that use, first, and other periods that have not ended after cost was charged to them too.
local function store(key, boundaries, place, used, periods, cost, now_us)
  local start_us, end_us = boundaries[place], boundaries[place + 1]
  local value = (boundaries.prefixes and boundaries.prefixes[place] or prefix(start_us, end_us)) .. string.format('%.0f', used)
  local last_us = end_us
  if periods then
    local others = {}
    for i = 1, #periods do
      local period = periods[i]
      if period.end_us > now_us and (period.start_us ~= start_us or period.end_us ~= end_us) and #others < max_periods - 1 then
        period.used = math.min(period.used + cost, max_used)
        last_us = math.max(last_us, period.end_us)
        others[#others + 1] = period
      end
    end
    if #others > 0 then
      value = value .. ';' .. text(others)
    elseif used == 0 then
      value = nil
    end
  elseif used == 0 then
    value = nil
  end
  if value then
    clock.store_until(key, value, math.ceil(last_us / 1000))
  else
    redis.call('DEL', key)
  end
end

-- Charges cost, which check allowed, and returns the time until the period ends.
function quota_count.charge(key, cost, boundaries, now_us, place, used, periods)
  store(key, boundaries, place, used + cost, periods, cost, now_us)
  return boundaries[place + 1] - now_us
end

-- Refunds cost to the caller's period. Returns how much was refunded, what is left, and the time until the period ends; or nil and a
-- refusal. Other periods keep the charge.
function quota_count.refund(key, limit, boundaries, cost, now_us)
  local place, used, known, periods = read(key, boundaries, now_us)
  if not place then
    return nil, used
  end
  local back = 0
  if known then
    back = math.min(used, cost)
  end
  used = used - back
  if back > 0 then
    store(key, boundaries, place, used, periods, 0, now_us)
  end
  local left_us = 0
  if used > 0 then
    left_us = boundaries[place + 1] - now_us
  end
  return back, math.max(limit - used, 0), left_us
end

return quota_count
