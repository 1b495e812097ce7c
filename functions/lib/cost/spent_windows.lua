--- The use of each window and period of a subject, brought up to the time of the call.
---
--- A window stores its sum and its oldest charge, a lane the sum that has lapsed: an open charge counts until its hold ends. If
--- several charges have left since the last call, or a window is new, the sums of pages give the difference. The state keeps the
--- 32 windows that were used last. A period has its sum from its first call to its end.
--- @use ledger charge_log charge_sums refusal
--- @lib spent_windows
local spent_windows = {}

-- Returns whether a window still counts a charge of a lane: not once its hold has ended.
local function counts(state, row, charge, number)
  local lane = state.lanes[math.min(charge.lane, #state.lanes)]
  local from = lane.head
  if not row.start_us and lane.hold_us >= row.window_us then
    from = lane.old_head or from
  end
  return charge.lane == 1 or number >= from
end

-- Advances a mark by one charge, if exactly that charge has left a span that ends now. Returns whether the mark is now right, and
-- the charge that left or nil.
local function step(bucket, state, mark, span_us)
  local horizon_us = math.max(state.now_us - span_us, state.kept_us)
  if mark.head_us > horizon_us or mark.head == state.next then
    return true, nil
  end
  charge_sums.fetch(bucket, state, mark.head, 2)
  local following_us = 0
  if mark.head + 1 < state.next then
    following_us = charge_sums.charge(state, mark.head + 1).time_us
    if following_us <= horizon_us then
      return false, nil
    end
  end
  local left = charge_sums.charge(state, mark.head)
  mark.head = mark.head + 1
  mark.head_us = following_us
  return true, left
end

-- Creates the mark of a search for the charges up to a time.
local function mark_of(state, place, horizon_us)
  local sums = {}
  for lane = 1, #state.lanes do
    sums[lane] = 0
  end
  return {
    place = place, horizon_us = math.max(horizon_us, state.kept_us), head = 0, head_us = 0, position = 0, step = 0, sums = sums,
  }
end

-- Searches for what several marks are after: everything, if nothing is newer.
local function find(bucket, state, marks)
  local open = {}
  for i = 1, #marks do
    local mark = marks[i]
    if state.newest_us <= mark.horizon_us then
      mark.head = state.next
      for lane = 1, #state.lanes do
        mark.sums[lane] = state.lanes[lane].total_micros
      end
    else
      open[#open + 1] = mark
    end
  end
  if #open > 0 then
    charge_sums.find(bucket, state, open)
  end
end

-- Counts an impossible sum as corrupt.
local function check(state, row)
  if row.spent_micros < 0 or row.spent_micros > state.stored_micros or row.head == state.next and row.spent_micros ~= 0 then
    state.corrupt_fields = state.corrupt_fields + 1
  end
end

-- Subtracts what has lapsed in a lane from the windows that contained it. If some of it is older than a period, a search must tell how much.
local function lapse(state, lane, base_micros)
  local lapsed_micros = charge_sums.subtract(base_micros, lane.base_micros)
  for i = 1, #state.windows do
    local row = state.windows[i]
    if row.start_us and (lane.old_head or lane.head) < row.head then
      row.unknown = true
    elseif (row.start_us or lane.hold_us < row.window_us) and not row.unknown then
      row.spent_micros = row.spent_micros - lapsed_micros
      if row.spent_micros < 0 then
        state.corrupt_fields = state.corrupt_fields + 1
      end
    end
  end
  lane.base_micros = base_micros
end

-- Advances every used lane to the first charge whose hold may not have ended.
local function advance_lanes(bucket, state)
  local marks = nil
  for i = 2, #state.lanes do
    local lane = state.lanes[i]
    if lane.total_micros ~= lane.base_micros and (lane.head_us <= state.now_us - lane.hold_us or lane.head_us <= state.kept_us) then
      lane.old_head = lane.head
      local moved, left = step(bucket, state, lane, lane.hold_us)
      if not moved then
        marks = marks or {}
        marks[#marks + 1] = mark_of(state, i, state.now_us - lane.hold_us)
      elseif left and left.lane == i then
        lapse(state, lane, charge_sums.add(lane.base_micros, left.amount_micros))
      end
    end
  end
  if not marks then
    return
  end
  find(bucket, state, marks)
  for i = 1, #marks do
    local mark = marks[i]
    local lane = state.lanes[mark.place]
    lane.head = mark.head
    lane.head_us = mark.head_us
    lapse(state, lane, mark.sums[mark.place])
  end
end

-- Returns what is spent in a window from its first charge on, given the sums before it.
local function spent(state, row, sums)
  local spent_micros = 0
  for i = 1, #state.lanes do
    local lane = state.lanes[i]
    local before_micros = sums[i]
    if i > 1 and lane.head > row.head then
      before_micros = lane.base_micros
    end
    spent_micros = spent_micros + charge_sums.subtract(lane.total_micros, before_micros)
  end
  return spent_micros
end

-- Advances a window by one charge, if that is enough. Returns whether the window is then right.
local function advance_window(bucket, state, row)
  local number = row.head
  local moved, left = step(bucket, state, row, row.window_us)
  if left and counts(state, row, left, number) then
    row.spent_micros = row.spent_micros - left.amount_micros
    check(state, row)
  end
  return moved and not row.unknown
end

-- Advances every window to the first charge inside. A new window or period needs a search.
local function advance_windows(bucket, state)
  local now_us, kept_us, marks = state.now_us, state.kept_us, nil
  for i = 1, #state.windows do
    local row, horizon_us = state.windows[i], nil
    if row.start_us then
      horizon_us = row.unknown and row.start_us - 1
    elseif (row.head_us <= now_us - row.window_us or row.head_us <= kept_us) and not advance_window(bucket, state, row) then
      horizon_us = now_us - row.window_us
    end
    if horizon_us then
      marks = marks or {}
      marks[#marks + 1] = mark_of(state, i, horizon_us)
    end
  end
  if not marks then
    return
  end
  find(bucket, state, marks)
  for i = 1, #marks do
    local mark = marks[i]
    local row = state.windows[mark.place]
    row.unknown = false
    row.head = mark.head
    row.head_us = mark.head_us
    row.spent_micros = spent(state, row, mark.sums)
    check(state, row)
  end
end

-- Returns the length and the start of the window or period that a limit has at a time, no start for a window; or nil and a refusal.
local function span_of(limits, i, now_us)
  local limit, refused = limits[i], nil
  local start_us, next_us = limit.start_us, nil
  if not start_us then
    return limit.window_us
  end
  next_us = start_us + limit.window_us
  if now_us < limit.previous_us then
    refused = 'previous must be at most now: the caller\'s clock is more than a period ahead of the server\'s'
  elseif now_us < start_us then
    return start_us - limit.previous_us, limit.previous_us
  elseif now_us < next_us then
    return limit.window_us, start_us
  elseif now_us < limit.after_us then
    return limit.after_us - next_us, next_us
  else
    refused = 'after must be above now: the caller\'s clock is more than a period behind the server\'s'
  end
  return nil, refusal.argument(string.format('limits.%d.', i - 1) .. refused)
end

-- Returns the index of the window of that length, or of the period that starts then, or nil.
local function place_of(windows, window_us, start_us)
  for i = 1, #windows do
    if windows[i].window_us == window_us and windows[i].start_us == start_us then
      return i
    end
  end
  return nil
end

-- Moves the windows of limits to the front, and returns them in the order of the limits.
local function arrange(state, limits)
  local windows, chosen = state.windows, {}
  if #windows == 0 and state.next > 1 and state.dropped_us == 0 then
    -- What was settled before any window was known stays for as long as its expiry said.
    windows[1] = ledger.row(state.longest_us, 9007199254740992, 0, state.next, 0, nil, true)
  end
  for i = #limits, 1, -1 do
    local window_us, start_us = span_of(limits, i, state.now_us)
    local place = place_of(windows, window_us, start_us)
    if place then
      chosen[i] = table.remove(windows, place)
    else
      chosen[i] = ledger.row(window_us, 0, 0, state.next, 0, start_us, true)
      if window_us == state.longest_us then
        state.empty_us = 0 -- it was that of a period of this length, or of a window that was dropped
      end
    end
    chosen[i].budget_micros = limits[i].budget_micros
    table.insert(windows, 1, chosen[i])
  end
  while #windows > 32 do
    table.remove(windows)
  end
  local longest_us = ledger.longest_us(windows, state.dropped_us)
  if longest_us ~= state.longest_us then
    state.longest_us = longest_us
    state.empty_us = 0
  end
  return chosen
end

-- Returns the windows of limits, which usually are the first ones already; or nil and a refusal.
local function choose(state, limits)
  local windows, arranged = state.windows, true
  for i = 1, #limits do
    local row, limit = windows[i], limits[i]
    local window_us, start_us = limit.window_us, nil
    if limit.start_us then
      window_us, start_us = span_of(limits, i, state.now_us)
      if not window_us then
        return nil, start_us
      end
    end
    if row and row.window_us == window_us and row.start_us == start_us then
      row.budget_micros = limit.budget_micros
    else
      arranged = false
    end
  end
  return arranged and windows or arrange(state, limits)
end

-- Returns the state as of now; the field of the receipt's charge or nil; and a table that begins with the limits' windows, in the
-- order of the limits. Or nil and a refusal. Writes nothing.
function spent_windows.open(bucket, receipt, limits, clock_us)
  local state, field = ledger.read(bucket, receipt, clock_us)
  if not state then
    return nil, field
  end
  local chosen, refused = choose(state, limits)
  if not chosen then
    return nil, refused
  end
  local kept_us = state.now_us - 2 * state.longest_us -- this call may forget so far
  if kept_us > state.kept_us then
    state.kept_us = kept_us
  end
  if #state.lanes > 1 then
    advance_lanes(bucket, state)
  end
  advance_windows(bucket, state)
  if state.corrupt_fields > 0 then
    return nil, charge_log.refusal(bucket)
  end
  return state, field, chosen
end

return spent_windows
