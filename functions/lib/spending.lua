--- What is spent in each window of a subject, brought up to the time of the call.
---
--- A window knows its sum and its oldest charge, so each charge leaves each window once. The state keeps the 32 windows
--- that were used last; a window that it does not know adds all charges up.
--- @use ledger charge_log refusal
--- @lib spending
local spending = {}

local function no_sum(bucket)
  return refusal.state(bucket, 'has a state that is not the sum of its charges')
end

-- Takes what a charge costs out of each window that it is inside of. Returns a refusal or nil.
local function take_out(bucket, state, number, amount_micros)
  for i = 1, #state.windows do
    local row = state.windows[i]
    if row.head <= number then
      row.spent_micros = row.spent_micros - amount_micros
      if row.spent_micros < 0 then
        return no_sum(bucket)
      end
    end
  end
  return nil
end

-- Notes the charges whose hold has ended, and takes them out of the sums. Returns a refusal or nil.
local function lapse(bucket, holds, state)
  local ended
  state.lapsed = {}
  state.lapses = {}
  repeat
    ended = redis.call('ZRANGEBYSCORE', holds, '-inf', state.now_us, 'LIMIT', #state.lapses, 64) -- rlfunc:ignore key-loop each hold ends once
    for i = 1, #ended do
      local number = tonumber(ended[i])
      local text = redis.call('HGET', bucket, ended[i]) -- rlfunc:ignore key-loop each hold ends once
      local time_us, amount_micros, end_us, kind, receipt = charge_log.parse(text)
      if not number or not time_us or kind ~= 'open' then
        return refusal.state(holds, 'holds a number of no open charge')
      end
      local failure = take_out(bucket, state, number, amount_micros)
      if failure then
        return failure
      end
      state.lapsed[number] = true
      state.lapses[#state.lapses + 1] = {number = number, text = charge_log.format(time_us, 0, end_us, 'open', receipt)}
    end
  until #ended < 64
  local following = redis.call('ZRANGEBYSCORE', holds, '-inf', '+inf', 'WITHSCORES', 'LIMIT', #state.lapses, 1)
  state.lapse_us = tonumber(following[2]) or 0
  return nil
end

-- Moves a window's oldest charge to the first one inside. Returns a refusal or nil.
local function leave(bucket, state, row)
  local horizon_us = state.now_us - row.window_us
  local failure = charge_log.each(bucket, state, row.head, 2, function(number, time_us, amount_micros)
    if time_us > horizon_us then
      row.head_us = time_us
      return true
    end
    row.head = number + 1
    row.spent_micros = row.spent_micros - amount_micros
    return false
  end)
  if not failure and (row.spent_micros < 0 or row.head == state.next and row.spent_micros ~= 0) then
    return no_sum(bucket)
  end
  return failure
end

-- A window that the state does not know: all charges that are kept are inside.
local function total(bucket, state, window_us)
  local row = {window_us = window_us, budget_micros = 0, spent_micros = 0, head = state.first, head_us = state.first_us}
  local failure = charge_log.each(bucket, state, state.first, 4, function(_, _, amount_micros)
    row.spent_micros = row.spent_micros + amount_micros
    return false
  end)
  return row, failure
end

-- The number of the window of that length, or nil.
local function find(windows, window_us)
  for i = 1, #windows do
    if windows[i].window_us == window_us then
      return i
    end
  end
  return nil
end

-- Puts the windows of the limits first, and returns them in the order of the limits; or nil and a refusal.
local function arrange(bucket, state, limits)
  local windows, chosen = state.windows, {}
  for i = #limits, 1, -1 do
    local limit = limits[i]
    local place = find(windows, limit.window_us)
    if place then
      chosen[i] = table.remove(windows, place)
    else
      local row, failure = total(bucket, state, limit.window_us)
      if failure then
        return nil, failure
      end
      chosen[i] = row
    end
    chosen[i].budget_micros = limit.budget_micros
    table.insert(windows, 1, chosen[i])
  end
  while #windows > 32 do
    table.remove(windows)
  end
  local longest_us = ledger.longest_us(windows)
  if longest_us ~= state.longest_us then
    state.longest_us = longest_us
    state.empty_us = 0
  end
  return chosen
end

-- The windows of the limits, which mostly stand first as they are; or nil and a refusal.
local function choose(bucket, state, limits)
  local windows = state.windows
  for i = 1, #limits do
    local row, limit = windows[i], limits[i]
    if not row or row.window_us ~= limit.window_us then
      return arrange(bucket, state, limits)
    end
    row.budget_micros = limit.budget_micros
  end
  return windows
end

-- The state as of now; the field of the receipt's charge or nil; and the limits' windows: the first ones of a table, in the
-- order of the limits. Or nil and a refusal. Nothing is written.
function spending.open(bucket, holds, receipt, limits, clock_us)
  local state, field = ledger.read(bucket, receipt, clock_us)
  if not state then
    return nil, field
  end
  local now_us, failure = state.now_us, nil
  if state.lapse_us > 0 and state.lapse_us <= now_us then
    failure = lapse(bucket, holds, state)
  end
  local chosen, unknown = choose(bucket, state, limits)
  failure = failure or unknown
  local windows = state.windows
  for i = 1, #windows do
    local row = windows[i]
    if row.head_us <= now_us - row.window_us and row.head < state.next then
      failure = failure or leave(bucket, state, row)
    end
  end
  if failure then
    return nil, failure
  end
  return state, field, chosen
end

return spending
