--- The state of a subject's budgets, in field 'state' of its hash of charges.
---
--- Eight numbers: the oldest charge's and the next one's, when the oldest page may be forgotten (0: it is not full), the newest
--- time stored, when nothing will be spent in the longest window (0: unknown), when the key expires, the sum of all stored charges, and the
--- total of lane 1. Then rows, each a byte and five numbers. 1, a window: its length, its budget, its use, and number and time of the oldest
--- charge inside. 2, a period of the calendar, which does not slide: the last number is when it starts. Periods that have ended are dropped.
--- 3, a further lane: its hold, its total, its total before the oldest charge that may count, and that charge's number and time. 4, if one
--- of its numbers is not 0, or there is no window: the time up to which charges are forgotten (0: twice the longest window ago), how long a
--- penalty lasts, when the active one ends, the length of the longest period that was dropped, and until when charges of such a period are kept.
--- @use charge_log refusal
--- @lib ledger
--- @state ledger 4 field 'state': eight little-endian doubles, then rows of a byte and five
local ledger = {}

local largest = 9007199254740992

-- How long charges are kept while no window is known: something was settled before anything was reserved.
local unknown_us = 86400000000

-- With the first row, which is read and written together with the head.
local head_bytes, row_bytes = 105, 41

-- Written if there is no window.
local nothing = {window_us = 0, budget_micros = 0, spent_micros = 0, head = 0, head_us = 0}

-- Creates a lane, whose total differs from its base if it has open charges. Lane 1 has no hold, only a total.
function ledger.lane(hold_us, total_micros, base_micros, head, head_us)
  return {hold_us = hold_us, total_micros = total_micros, base_micros = base_micros, head = head, head_us = head_us}
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

-- Creates the state of a subject without windows and further lanes.
local function state_of(first, next_number, due_us, newest_us, empty_us, expiry_us, stored_micros, total_micros, clock_us)
  return {
    first = first, next = next_number, due_us = due_us, empty_us = empty_us, expiry_us = expiry_us, stored_micros = stored_micros,
    windows = {nil, nil}, lanes = {ledger.lane(0, total_micros, 0, 0, 0), nil}, longest_us = unknown_us, kept_us = 0, penalty_us = 0,
    penalty_end_us = 0, dropped_us = 0, dropped_end_us = 0, clock_us = clock_us, now_us = newest_us > clock_us and newest_us or clock_us, newest_us = newest_us,
    read = {}, corrupt_fields = 0,
  }
end

-- Creates the row of a window, or of a period that starts at start_us. unknown means that its use must be found.
function ledger.row(window_us, budget_micros, spent_micros, head, head_us, start_us, unknown)
  local row = {window_us = window_us, budget_micros = budget_micros, spent_micros = spent_micros, head = head, head_us = head_us}
  if start_us then
    row.start_us = start_us
    row.end_us = start_us + window_us
  end
  if unknown then
    row.unknown = true
  end
  return row
end

-- Reads a row of a kind into the state. Returns whether its numbers are possible. A period that has ended is dropped: its charges are kept for
-- twice its length, as those of a window.
local function add_row(state, kind, one, two, three, four, five)
  if not charge_log.whole(one, two, three, four, five) then
    return false
  elseif kind == 1 or kind == 2 and five + one > state.now_us then
    state.windows[#state.windows + 1] = ledger.row(one, two, three, four, five, kind == 2 and five or nil)
    return four >= state.first and four <= state.next and three <= state.stored_micros and (four < state.next or three == 0)
  elseif kind == 2 then
    local kept_until_us = five + 3 * one
    if kept_until_us > state.now_us then
      state.dropped_us = math.max(state.dropped_us, one)
      state.dropped_end_us = math.max(state.dropped_end_us, kept_until_us)
    end
    return true
  elseif kind == 3 then
    state.lanes[#state.lanes + 1] = ledger.lane(one, two, three, four, five)
    return four <= state.next and two < largest and three < largest
  end
  state.kept_us = one
  state.penalty_us = two
  state.penalty_end_us = three
  if five > state.now_us then
    state.dropped_us = math.max(state.dropped_us, four)
    state.dropped_end_us = math.max(state.dropped_end_us, five)
  end
  return kind == 4
end

-- Parses a state as of the later of the clock and the newest time stored; nil if it is invalid.
local function parse(text, clock_us)
  if #text < head_bytes or (#text - head_bytes) % row_bytes > 0 then
    return nil
  end
  local first, next_number, due_us, newest_us, empty_us, expiry_us, stored_micros, total_micros, kind, one, two, three, four, five =
    struct.unpack('<ddddddddBddddd', text)
  if not charge_log.whole(first, next_number, due_us, newest_us, empty_us) or not charge_log.whole(expiry_us, stored_micros, total_micros, 0, 0)
    or first % 8 ~= 1 or first > next_number or stored_micros >= largest or total_micros >= largest then
    return nil
  end
  local state = state_of(first, next_number, due_us, newest_us, empty_us, expiry_us, stored_micros, total_micros, clock_us)
  if not add_row(state, kind, one, two, three, four, five) then
    return nil
  end
  for place = head_bytes + 1, #text, row_bytes do
    if not add_row(state, struct.unpack('<Bddddd', text, place)) then
      return nil
    end
  end
  state.longest_us = ledger.longest_us(state.windows, state.dropped_us)
  if state.kept_us < newest_us - 2 * state.longest_us then
    state.kept_us = newest_us - 2 * state.longest_us
  end
  return state
end

-- Returns the state, and the field of the receipt's charge or nil; or nil and a refusal. If the stored time is further ahead than
-- the longest window, a wrong clock wrote it, and the subject starts without charges.
function ledger.read(bucket, receipt, clock_us)
  local found = redis.call('HMGET', bucket, 'state', 'r:' .. receipt)
  local text = found[1]
  if not text then
    if redis.call('EXISTS', bucket) == 1 then
      return nil, refusal.state(bucket, 'holds charges but no state')
    end
    return state_of(1, 1, 0, 0, 0, 0, 0, 0, clock_us), nil
  end
  local state = parse(text, clock_us)
  if not state then
    return nil, refusal.state(bucket, 'has an invalid state')
  end
  if state.now_us - clock_us > state.longest_us then
    state = state_of(1, 1, 0, 0, 0, 0, 0, 0, clock_us)
    state.restarted = true
    return state, nil
  end
  return state, found[2] or nil
end

-- Formats the state.
function ledger.format(state)
  local windows, lanes, kept_us = state.windows, state.lanes, state.kept_us
  local one = windows[1] or nothing
  local text = struct.pack('<ddddddddBddddd', state.first, state.next, state.due_us, state.now_us, state.empty_us, state.expiry_us,
    state.stored_micros, lanes[1].total_micros, one == nothing and 4 or one.start_us and 2 or 1, one.window_us, one.budget_micros,
    one.spent_micros, one.head, one.start_us or one.head_us)
  for i = 2, #windows do
    local row = windows[i]
    text = text .. struct.pack('<Bddddd', row.start_us and 2 or 1, row.window_us, row.budget_micros, row.spent_micros, row.head,
      row.start_us or row.head_us)
  end
  for i = 2, #lanes do
    local lane = lanes[i]
    text = text .. struct.pack('<Bddddd', 3, lane.hold_us, lane.total_micros, lane.base_micros, lane.head, lane.head_us)
  end
  if kept_us <= state.now_us - 2 * state.longest_us then
    kept_us = 0
  end
  if kept_us > 0 or state.penalty_us > 0 or state.penalty_end_us > 0 or state.dropped_us > 0 then
    return text .. struct.pack('<Bddddd', 4, kept_us, state.penalty_us, state.penalty_end_us, state.dropped_us, state.dropped_end_us)
  end
  return text
end

return ledger
