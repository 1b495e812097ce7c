--- What is spent in each window of a subject, brought up to the time of the call.
---
--- A window knows its sum and its oldest charge, so each charge leaves each window once. The state keeps the 32 windows
--- that were used last; a window that it does not know adds all charges up.
--- @use ledger charge_log refusal
--- @lib spending
local spending = {}

-- Takes what a charge no longer costs, or costs now, out of or into each window that it is inside of.
function spending.add(state, number, amount_micros)
  for i = 1, #state.windows do
    local row = state.windows[i]
    if row.head <= number then
      row.spent_micros = row.spent_micros + amount_micros
    end
  end
end

-- Notes the charges whose hold has ended, and takes them out of the sums. Returns a refusal or nil.
local function lapse(bucket, holds, state)
  local ended
  repeat
    ended = redis.call('ZRANGEBYSCORE', holds, '-inf', state.now_us, 'LIMIT', #state.lapses, 64) -- rlfunc:ignore key-loop each hold ends once
    for i = 1, #ended do
      local number = tonumber(ended[i])
      local text = redis.call('HGET', bucket, ended[i]) -- rlfunc:ignore key-loop each hold ends once
      local time_us, amount_micros, end_us, kind, receipt = charge_log.parse(text)
      if not number or not time_us or kind ~= 'open' then
        return refusal.state(holds, 'holds a number of no open charge')
      end
      spending.add(state, number, -amount_micros)
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
  return charge_log.each(bucket, state, row.head, function(number, time_us, amount_micros)
    if time_us > horizon_us then
      row.head_us = time_us
      return true
    end
    row.head = number + 1
    row.spent_micros = row.spent_micros - amount_micros
    return false
  end)
end

-- A window that the state does not know: all charges that are kept are inside.
local function total(bucket, state, window_us)
  local row = {window_us = window_us, budget_micros = 0, spent_micros = 0, head = state.first, head_us = state.first_us}
  local failure = charge_log.each(bucket, state, state.first, function(_, _, amount_micros)
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

-- Reports whether the windows of the limits stand first, and puts each limit's window into it as far as they do.
local function same(windows, limits)
  for i = 1, #limits do
    local row, limit = windows[i], limits[i]
    if not row or row.window_us ~= limit.window_us then
      return false
    end
    row.budget_micros = limit.budget_micros
    limit.row = row
  end
  return true
end

-- Puts the windows of the limits first, and each limit's window into it. Returns a refusal or nil.
local function choose(bucket, state, limits)
  local windows = state.windows
  if same(windows, limits) then
    return nil
  end
  for i = #limits, 1, -1 do
    local limit = limits[i]
    local place = find(windows, limit.window_us)
    if place then
      limit.row = table.remove(windows, place)
    else
      local failure
      limit.row, failure = total(bucket, state, limit.window_us)
      if failure then
        return failure
      end
    end
    limit.row.budget_micros = limit.budget_micros
    table.insert(windows, 1, limit.row)
  end
  while #windows > 32 do
    table.remove(windows)
  end
  return nil
end

-- The state as of now and the number of the receipt's charge or nil; or nil and a refusal. Nothing is written.
function spending.open(bucket, holds, receipt, limits, clock_us)
  local state, number = ledger.read(bucket, receipt, clock_us)
  if not state then
    return nil, number
  end
  local failure = nil
  if state.lapse_us > 0 and state.lapse_us <= state.now_us then
    failure = lapse(bucket, holds, state)
  end
  failure = failure or choose(bucket, state, limits)
  local windows, now_us, longest_us = state.windows, state.now_us, 0
  for i = 1, #windows do
    local row = windows[i]
    if row.head < state.next and row.head_us <= now_us - row.window_us then
      failure = failure or leave(bucket, state, row)
    end
    if row.spent_micros < 0 or row.head == state.next and row.spent_micros ~= 0 then
      failure = failure or refusal.state(bucket, 'has a state that is not the sum of its charges')
    end
    if row.window_us > longest_us then
      longest_us = row.window_us
    end
  end
  if failure then
    return nil, failure
  end
  if longest_us > 0 then
    state.longest_us = longest_us
  end
  return state, number
end

return spending
