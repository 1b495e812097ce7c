--- Limits of every kind behind one face: a row of a group is judged first, and charged once all are.
--- @use log_entry refusal token_bucket window_count window_log window_pair
--- @lib limit_kinds
local limit_kinds = {}

-- By kind: judges a row (state, limit, window_us, burst, cost) and writes nothing. Returns a table: allowed, remaining and
-- reset_after_us without the call, retry_after_us, and what charge needs; or nil and a refusal.
limit_kinds.judge = {}

-- By kind: takes a row's cost, and brings what judge returned to the state after it.
limit_kinds.charge = {}

-- What a judge returns: the answer without the call, and what its charge needs, a moment and a number. Whoever need not wait
-- is allowed.
local function verdict(remaining, wait_us, reset_us, at, with)
  return {
    allowed = wait_us == 0, remaining = remaining, retry_after_us = wait_us, reset_after_us = reset_us, at = at, with = with,
    mark = 0,
  }
end

local function no_burst()
  return nil, refusal.argument('burst must be absent but in a gcra')
end

function limit_kinds.judge.sliding_log(row, clock_us)
  if row.burst then
    return no_burst()
  end
  if row.cost > 1 then
    return nil, refusal.argument('cost must be 0 or 1 in a sliding_log: it counts requests')
  end
  local limit, window_us = row.limit, row.window_us
  local now_us, count, newest_us, oldest_us, need, length, expired, oldest = window_log.read(row.state, window_us, clock_us)
  if not now_us then
    return nil, count
  end
  local reset_us = 0
  if count > 0 then
    reset_us = newest_us + window_us - clock_us
  end
  if count + row.cost > limit then
    local room_us, unreadable = window_log.room_us(row.state, limit + 1 - row.cost, window_us, count, oldest_us)
    if not room_us then
      return nil, unreadable
    end
    return verdict(math.max(limit - count, 0), room_us - clock_us, reset_us, now_us, 0)
  end
  return {
    allowed = true, remaining = limit - count, retry_after_us = 0, reset_after_us = reset_us, at = now_us, with = expired, mark = 0,
    need = need, length = length, oldest = oldest,
  }
end

function limit_kinds.charge.sliding_log(row, judged, clock_us)
  log_entry.append(row.state, row.limit, row.window_us, clock_us, judged.at, judged.need, judged.length or 0, judged.with, judged.oldest or '')
  judged.remaining = judged.remaining - 1
  judged.reset_after_us = row.window_us + judged.at - clock_us
end

function limit_kinds.judge.sliding_counter(row)
  if row.burst then
    return no_burst()
  end
  if row.window_us > 7776000000000 then
    return nil, refusal.argument('window must be at most 90 days in a sliding_counter')
  end
  local allowed, left, wait_us, reset_us, gone_ms, moved = window_pair.judge(row.state, row.limit, math.ceil(row.window_us / 1000), row.cost)
  if allowed == nil then
    return nil, left
  end
  if not allowed then
    return verdict(left, wait_us, reset_us, 0, 0)
  end
  return verdict(left + row.cost, 0, reset_us, gone_ms, moved or -1)
end

function limit_kinds.charge.sliding_counter(row, judged)
  judged.remaining = judged.remaining - row.cost
  local moved
  if judged.with >= 0 then
    moved = judged.with
  end
  judged.reset_after_us = window_pair.charge(row.state, row.cost, math.ceil(row.window_us / 1000), judged.at, moved)
end

function limit_kinds.judge.fixed_window(row)
  if row.burst then
    return no_burst()
  end
  local allowed, left, wait_us, end_us, windows = window_count.judge(row.state, row.limit, math.ceil(row.window_us / 1000), row.cost)
  if allowed == nil then
    return nil, left
  end
  if not allowed then
    return verdict(left, wait_us, end_us, 0, 0)
  end
  local judged = verdict(left + row.cost, 0, end_us, 0, 0)
  judged.windows = windows
  return judged
end

function limit_kinds.charge.fixed_window(row, judged)
  judged.remaining = judged.remaining - row.cost
  judged.reset_after_us = window_count.charge(row.state, row.cost, math.ceil(row.window_us / 1000), judged.reset_after_us, judged.windows)
end

function limit_kinds.judge.gcra(row, clock_us)
  local allowed, left, wait_us, full_us, next_full_us, value =
    token_bucket.judge(row.state, row.limit, row.window_us, row.burst or row.limit, row.cost, clock_us)
  if allowed == nil then
    return nil, left
  end
  if not allowed then
    return verdict(left, wait_us, full_us, 0, 0)
  end
  local judged = verdict(left + row.cost, 0, full_us, next_full_us, 0)
  judged.value = value
  return judged
end

function limit_kinds.charge.gcra(row, judged)
  judged.remaining = judged.remaining - row.cost
  token_bucket.store(row.state, judged.at, judged.value)
  judged.reset_after_us = judged.at
end

return limit_kinds
