--- The state of a subject's budgets, in field 'state' of its hash of charges.
---
--- Seven numbers: the oldest charge's and the next one's, when the oldest page may be forgotten (0: it is not full), the newest
--- time stored, when nothing will be spent in the longest window (0: unknown), the sum of all stored charges, and the total of
--- lane 1. Then five per window after a ';': its length, its budget, its use, and number and time of the oldest charge inside;
--- five zeros if there is no window. A ':' in place of the ';' is a period of the calendar, which does not slide: the last number is when it
--- starts. Periods that have ended are dropped. Then five per further lane after a '|': its hold, its total, its total before the oldest
--- charge that may count, and that charge's number and time. Last, after a '!': the time up to which charges are forgotten (0:
--- twice the longest window ago), how long a penalty lasts, when the active one ends, the length of the longest period that was dropped, and
--- until when charges of such a period are kept.
--- @use refusal
--- @lib ledger
--- @state ledger 3 field 'state': seven numbers, five a window behind a ';', or a period behind a ':', five a lane behind a '|', five behind a '!'
local ledger = {}

local largest = 9007199254740992

-- How long charges are kept while no window is known: something was settled before anything was reserved.
local unknown_us = 86400000000

-- Written if there is no window.
local nothing = {window_us = 0, budget_micros = 0, spent_micros = 0, head = 0, head_us = 0}

-- Creates a lane; lane 1 has no hold, only a total.
function ledger.lane(hold_us, total_micros, base_micros, head, head_us)
  return {hold_us = hold_us, total_micros = total_micros, base_micros = base_micros, head = head, head_us = head_us, old_head = head}
end

-- Returns the longest window, period or dropped period; or how long charges are kept without any.
function ledger.longest_us(windows, dropped_us)
  local longest_us = dropped_us
  for i = 1, #windows do
    if windows[i].window_us > longest_us then
      longest_us = windows[i].window_us
    end
  end
  if longest_us == 0 then
    return unknown_us
  end
  return longest_us
end

-- Returns the state of an unknown subject.
local function fresh(clock_us)
  local main = ledger.lane(0, 0, 0, 0, 0)
  return {
    first = 1, next = 1, next_field = '1', due_us = 0, empty_us = 0, stored_micros = 0, windows = {}, lanes = {main}, main = main,
    longest_us = unknown_us, kept_us = 0, penalty_us = 0, penalty_end_us = 0, dropped_us = 0, dropped_end_us = 0, newest_us = 0, clock_us = clock_us, now_us = clock_us, read = {}, charges = {},
    corrupt_fields = 0, restarted = false,
  }
end

-- Creates the row of a window, or of a period that starts at start_us. unknown means that its use must be found. A charge counts for as long as
-- the window, or to the end of the period; holds below outlasts_us may end before that.
function ledger.row(window_us, budget_micros, spent_micros, head, head_us, start_us, unknown)
  return {
    window_us = window_us, budget_micros = budget_micros, spent_micros = spent_micros, head = head, head_us = head_us, unknown = unknown,
    start_us = start_us, end_us = start_us and start_us + window_us or largest, outlasts_us = start_us and largest or window_us,
  }
end

-- Returns a window's row, or nil if its numbers are impossible.
local function row_of(first, next_number, stored_micros, sign, window, budget, spent, head, time)
  local window_us, budget_micros, spent_micros, number, head_us = window + 0, budget + 0, spent + 0, head + 0, time + 0
  if number < first or number > next_number or number == next_number and spent_micros ~= 0 or spent_micros > stored_micros
    or math.max(window_us, budget_micros, head_us) > largest then
    return nil
  end
  if sign == ':' then
    return ledger.row(window_us, budget_micros, spent_micros, number, head_us, head_us, false)
  end
  return ledger.row(window_us, budget_micros, spent_micros, number, head_us, nil, false)
end

-- Returns a lane, or nil if its numbers are impossible.
local function lane_of(next_number, hold, total, base, head, time)
  local hold_us, total_micros, base_micros, number, head_us = hold + 0, total + 0, base + 0, head + 0, time + 0
  if number > next_number or math.max(total_micros, base_micros) >= largest or math.max(hold_us, head_us) > largest then
    return nil
  end
  return ledger.lane(hold_us, total_micros, base_micros, number, head_us)
end

-- Reads what follows the first window: further windows, lanes, and the end. Returns whether all of it is valid.
local function parse_more(state, more)
  local place, windows, lanes = 1, state.windows, state.lanes
  while place <= #more do
    local sign, one, two, three, four, five, following = string.match(more, '^([;:|]) (%d+) (%d+) (%d+) (%d+) (%d+)()', place)
    if not following then
      break
    end
    local row, lane
    if following - place > 86 then
      return false
    elseif sign == '|' then
      lane = lane_of(state.next, one, two, three, four, five)
    elseif #lanes == 1 then
      row = row_of(state.first, state.next, state.stored_micros, sign, one, two, three, four, five)
    end
    if lane then
      lanes[#lanes + 1] = lane
    elseif row then
      windows[#windows + 1] = row
    else
      return false
    end
    place = following
  end
  if place > #more then
    return true
  end
  local kept, penalty, penalty_end, dropped, dropped_end = string.match(more, '^! (%d+) (%d+) (%d+) (%d+) (%d+)$', place)
  if not dropped_end or #more - place > 86 then
    return false
  end
  state.kept_us = kept + 0
  state.penalty_us = penalty + 0
  state.penalty_end_us = penalty_end + 0
  state.dropped_us = dropped + 0
  state.dropped_end_us = dropped_end + 0
  return math.max(state.kept_us, state.penalty_us, state.penalty_end_us, state.dropped_us, state.dropped_end_us) <= largest
end

-- Drops the periods that have ended. Their charges are kept for twice their length, as those of a window.
local function drop_ended(state)
  if state.dropped_end_us <= state.now_us then
    state.dropped_us = 0
    state.dropped_end_us = 0
  end
  for i = #state.windows, 1, -1 do
    local row = state.windows[i]
    if row.end_us <= state.now_us then
      table.remove(state.windows, i)
      local kept_until_us = row.end_us + 2 * row.window_us
      if kept_until_us > state.now_us then
        state.dropped_us = math.max(state.dropped_us, row.window_us)
        state.dropped_end_us = math.max(state.dropped_end_us, kept_until_us)
      end
    end
  end
end

-- Parses a state as of the later of the clock and the newest time stored; nil if it is invalid.
local function parse(text, clock_us)
  local first, next_field, due, newest, empty, stored, total, sign, window, budget, spent, head, time, more =
    string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)([;:]) (%d+) (%d+) (%d+) (%d+) (%d+)(.*)$')
  -- Twelve numbers of 16 digits at most: not every Lua can read more than 300.
  if not more or #text - #more > 204 then
    return nil
  end
  local first_number, next_number, due_us, newest_us = first + 0, next_field + 0, due + 0, newest + 0
  local empty_us, stored_micros, total_micros = empty + 0, stored + 0, total + 0
  if first_number % 8 ~= 1 or first_number > next_number or math.max(stored_micros, total_micros) >= largest
    or math.max(next_number, due_us, newest_us, empty_us) > largest then
    return nil
  end
  local windows = {}
  if window ~= '0' then
    local row = row_of(first_number, next_number, stored_micros, sign, window, budget, spent, head, time)
    if not row then
      return nil
    end
    windows = {row, nil}
  elseif string.find(more, '^[;:]') then
    return nil
  end
  local main = ledger.lane(0, total_micros, 0, 0, 0)
  local state = {
    first = first_number, next = next_number, next_field = next_field, due_us = due_us, empty_us = empty_us, stored_micros = stored_micros,
    windows = windows, lanes = {main}, main = main, longest_us = 0, kept_us = 0, penalty_us = 0, penalty_end_us = 0,
    dropped_us = 0, dropped_end_us = 0, newest_us = newest_us, clock_us = clock_us, now_us = math.max(newest_us, clock_us), read = {}, charges = {},
    corrupt_fields = 0, restarted = false,
  }
  if more ~= '' and not parse_more(state, more) then
    return nil
  end
  state.longest_us = ledger.longest_us(windows, state.dropped_us)
  state.kept_us = math.max(state.kept_us, newest_us - 2 * state.longest_us)
  return state
end

-- Returns the state, and the field of the receipt's charge or nil; or nil and a refusal. If the stored time is further ahead than
-- the longest window, a wrong clock wrote it, and the subject starts without charges.
function ledger.read(bucket, receipt, clock_us)
  local found = redis.call('HMGET', bucket, 'state', 'r:' .. receipt)
  if not found[1] then
    if redis.call('EXISTS', bucket) == 1 then
      return nil, refusal.state(bucket, 'holds charges but no state')
    end
    return fresh(clock_us), nil
  end
  local state = parse(found[1], clock_us)
  if not state then
    return nil, refusal.state(bucket, 'has an invalid state')
  end
  if state.now_us - clock_us > state.longest_us then
    state = fresh(clock_us)
    state.restarted = true
    return state, nil
  end
  drop_ended(state)
  return state, found[2] or nil
end

-- Formats the state.
function ledger.format(state)
  local windows, lanes = state.windows, state.lanes
  local one = windows[1] or nothing
  local text = string.format('%d %d %d %d %d %d %d%s %d %d %d %d %d', state.first, state.next, state.due_us, state.now_us, state.empty_us,
    state.stored_micros, state.main.total_micros, one.start_us and ':' or ';', one.window_us, one.budget_micros, one.spent_micros, one.head,
    one.start_us or one.head_us)
  for i = 2, #windows do
    local row = windows[i]
    text = text .. string.format('%s %d %d %d %d %d', row.start_us and ':' or ';', row.window_us, row.budget_micros, row.spent_micros, row.head,
      row.start_us or row.head_us)
  end
  for i = 2, #lanes do
    local lane = lanes[i]
    text = text .. string.format('| %d %d %d %d %d', lane.hold_us, lane.total_micros, lane.base_micros, lane.head, lane.head_us)
  end
  local kept_us = state.kept_us
  if kept_us <= state.now_us - 2 * state.longest_us then
    kept_us = 0
  end
  if kept_us > 0 or state.penalty_us > 0 or state.penalty_end_us > 0 or state.dropped_us > 0 then
    return text .. string.format('! %d %d %d %d %d', kept_us, state.penalty_us, state.penalty_end_us, state.dropped_us, state.dropped_end_us)
  end
  return text
end

return ledger
