--- The state of a subject's budgets, kept in field 'state' of its hash of charges.
---
--- Five numbers: the oldest charge's and the next one's, the oldest charge's time, the newest time stored, and when nothing
--- will be spent in the longest window, 0 where that has to be looked up. Then five a window, behind a ';': its length, its
--- budget, what is spent in it, and number and time of the oldest charge inside; five 0 where there is no window. Where
--- there are holds or penalties a '!', and the end of the first hold that may end, how long a penalty lasts, and when the
--- running one ends; 0 for none.
--- @use refusal
--- @lib ledger
--- @state ledger 1 field 'state': five numbers, then five a window behind a ';', and three behind a '!' with holds and penalties
local ledger = {}

local largest = 9007199254740992

-- How long charges are kept where no window is known yet: something was settled before anything was reserved.
local unknown_us = 86400000000

-- The charges whose hold has ended, where none has.
local none = {}

-- The state of a subject without one.
local function fresh(clock_us)
  return {
    first = 1, next = 1, next_field = '1', first_us = 0, empty_us = 0, windows = {}, longest_us = unknown_us, lapse_us = 0,
    penalty_us = 0, barred_us = 0, lapsed = none, lapses = none, clock_us = clock_us, now_us = clock_us,
  }
end

-- The longest window, or how long charges are kept without one.
function ledger.longest_us(windows)
  local longest_us = 0
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

-- A window's row, or nil where its numbers can not be.
local function row_of(first, next_number, window, budget, spent, head, time)
  local window_us, budget_micros, spent_micros, number, head_us = window + 0, budget + 0, spent + 0, head + 0, time + 0
  if number < first or number > next_number or number == next_number and spent_micros ~= 0
    or math.max(window_us, budget_micros, spent_micros, head_us) > largest then
    return nil
  end
  return {window_us = window_us, budget_micros = budget_micros, spent_micros = spent_micros, head = number, head_us = head_us}
end

-- Reads what stands behind the first window: further ones, holds and penalties. Reports whether it is that.
local function parse_more(state, windows, more)
  local place = 1
  while place <= #more do
    local window, budget, spent, head, time, following = string.match(more, '^; (%d+) (%d+) (%d+) (%d+) (%d+)()', place)
    if not following then
      break
    end
    local row = following - place <= 86 and row_of(state.first, state.next, window, budget, spent, head, time)
    if not row then
      return false
    end
    windows[#windows + 1] = row
    place = following
  end
  if place > #more then
    return true
  end
  local lapse, penalty, barred = string.match(more, '^! (%d+) (%d+) (%d+)$', place)
  if not barred or #more - place > 52 then
    return false
  end
  state.lapse_us = lapse + 0
  state.penalty_us = penalty + 0
  state.barred_us = barred + 0
  return math.max(state.lapse_us, state.penalty_us, state.barred_us) <= largest
end

-- The state in a text as of the later of the clock and the newest time stored, or nil when it is none.
local function parse(text, clock_us)
  local first, next_field, oldest, newest, empty, window, budget, spent, head, time, more =
    string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+); (%d+) (%d+) (%d+) (%d+) (%d+)(.*)$')
  -- Ten numbers of 16 digits at most: not every Lua can read more than 300.
  if not more or #text - #more > 170 then
    return nil
  end
  local first_number, next_number, first_us, now_us, empty_us = first + 0, next_field + 0, oldest + 0, newest + 0, empty + 0
  if first_number < 1 or first_number > next_number or math.max(next_number, first_us, now_us, empty_us) > largest then
    return nil
  end
  if now_us < clock_us then
    now_us = clock_us
  end
  local windows = {}
  if window ~= '0' then
    local row = row_of(first_number, next_number, window, budget, spent, head, time)
    if not row then
      return nil
    end
    windows = {row, nil}
  elseif string.find(more, '^;') then
    return nil
  end
  local state = {
    first = first_number, next = next_number, next_field = next_field, first_us = first_us, empty_us = empty_us, windows = windows,
    longest_us = 0, lapse_us = 0, penalty_us = 0, barred_us = 0, lapsed = none, lapses = none, clock_us = clock_us, now_us = now_us,
  }
  if more ~= '' and not parse_more(state, windows, more) then
    return nil
  end
  state.longest_us = ledger.longest_us(windows)
  return state
end

-- The state, and the field of the receipt's charge or nil; or nil and a refusal.
-- A stored time that is further ahead than the longest window is a broken clock's: the key starts anew.
function ledger.read(bucket, receipt, clock_us)
  local found = redis.call('HMGET', bucket, 'state', 'r:' .. receipt)
  if not found[1] then
    if redis.call('EXISTS', bucket) == 1 then
      return nil, refusal.state(bucket, 'holds charges and no state')
    end
    return fresh(clock_us), nil
  end
  local state = parse(found[1], clock_us)
  if not state then
    return nil, refusal.state(bucket, 'has a state that is none')
  end
  if state.now_us - clock_us > state.longest_us then
    state = fresh(clock_us)
    state.anew = true
    return state, nil
  end
  return state, found[2] or nil
end

-- The state as text.
function ledger.format(state)
  local windows = state.windows
  local text
  local one, two = windows[1], windows[2]
  if one and two then
    text = string.format('%d %d %d %d %d; %d %d %d %d %d; %d %d %d %d %d', state.first, state.next, state.first_us, state.now_us, state.empty_us,
      one.window_us, one.budget_micros, one.spent_micros, one.head, one.head_us,
      two.window_us, two.budget_micros, two.spent_micros, two.head, two.head_us)
  elseif one then
    text = string.format('%d %d %d %d %d; %d %d %d %d %d', state.first, state.next, state.first_us, state.now_us, state.empty_us,
      one.window_us, one.budget_micros, one.spent_micros, one.head, one.head_us)
  else
    text = string.format('%d %d %d %d %d; 0 0 0 0 0', state.first, state.next, state.first_us, state.now_us, state.empty_us)
  end
  for i = 3, #windows do
    local row = windows[i]
    text = text .. string.format('; %d %d %d %d %d', row.window_us, row.budget_micros, row.spent_micros, row.head, row.head_us)
  end
  if state.lapse_us > 0 or state.penalty_us > 0 or state.barred_us > 0 then
    return text .. string.format('! %d %d %d', state.lapse_us, state.penalty_us, state.barred_us)
  end
  return text
end

return ledger
