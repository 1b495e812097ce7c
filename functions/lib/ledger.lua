--- The state of a subject's budgets, kept in field 'state' of its hash of charges.
---
--- Four numbers: the oldest charge's and the next one's, the oldest charge's time, the newest time stored. Then a row a
--- window, behind a ';': its length, its budget, what is spent in it, and number and time of the oldest charge inside.
--- Where there are holds or penalties a '!', and the end of the first hold that may end, how long a penalty lasts, and
--- when the running one ends; 0 for none.
--- @use refusal
--- @lib ledger
--- @state ledger 1 field 'state': four numbers, then a row a window behind a ';', and a '!' with holds and penalties
local ledger = {}

local largest = 9007199254740992

-- How long charges are kept where no window is known yet: something was settled before anything was reserved.
local unknown_us = 86400000000

local function fresh(clock_us)
  return {
    first = 1, next = 1, first_us = 0, newest_us = 0, lapse_us = 0, penalty_us = 0, barred_us = 0,
    windows = {}, lapsed = {}, lapses = {}, longest_us = unknown_us, clock_us = clock_us, now_us = clock_us, anew = true,
  }
end

-- The number in a text of digits; 0 in another.
function ledger.whole(digits)
  return tonumber(digits) or 0
end

local function row_of(window, budget, spent, head, head_us)
  local number = tonumber
  return {
    window_us = number(window) or 0, budget_micros = number(budget) or 0, spent_micros = number(spent) or 0,
    head = number(head) or 0, head_us = number(head_us) or 0,
  }
end

-- The rows in a text, into windows. Reports whether it holds nothing else.
local function parse_rows(windows, text)
  local read = 0
  for row, window, budget, spent, head, head_us in string.gmatch(text, '(; (%d+) (%d+) (%d+) (%d+) (%d+))') do
    windows[#windows + 1] = row_of(window, budget, spent, head, head_us)
    read = read + #row
  end
  return read == #text
end

-- The state in a text, or nil when it is none.
local function parse(text, clock_us)
  local first, next_number, first_us, newest_us, window, budget, spent, head, head_us, rest =
    string.match(text, '^(%d+) (%d+) (%d+) (%d+); (%d+) (%d+) (%d+) (%d+) (%d+)(.*)$')
  local windows = {}
  if rest then
    windows[1] = row_of(window, budget, spent, head, head_us)
  else
    first, next_number, first_us, newest_us, rest = string.match(text, '^(%d+) (%d+) (%d+) (%d+)(.*)$')
  end
  if not rest then
    return nil
  end
  local number = tonumber
  local state = {
    first = number(first) or 0, next = number(next_number) or 0, first_us = number(first_us) or 0, newest_us = number(newest_us) or 0,
    lapse_us = 0, penalty_us = 0, barred_us = 0, windows = windows, lapsed = {}, lapses = {}, longest_us = unknown_us,
    clock_us = clock_us, now_us = clock_us, anew = false,
  }
  if rest ~= '' then
    local rows, lapse, penalty, barred = string.match(rest, '^([^!]*)! (%d+) (%d+) (%d+)$')
    if rows then
      rest = rows
      state.lapse_us = ledger.whole(lapse)
      state.penalty_us = ledger.whole(penalty)
      state.barred_us = ledger.whole(barred)
    end
    if not parse_rows(windows, rest) or math.max(state.lapse_us, state.penalty_us, state.barred_us) > largest then
      return nil
    end
  end
  for i = 1, #windows do
    local row = windows[i]
    if row.head < state.first or row.head > state.next or row.window_us > largest or row.budget_micros > largest
      or row.spent_micros > largest or row.head_us > largest then
      return nil
    end
    if i == 1 or row.window_us > state.longest_us then
      state.longest_us = row.window_us
    end
  end
  if state.first < 1 or state.first > state.next or state.next > largest or state.first_us > largest or state.newest_us > largest then
    return nil
  end
  return state
end

-- The state, and the number of the receipt's charge or nil; or nil and a refusal.
-- Its now_us is the later of the clock and the newest time stored. One that is further ahead than the longest window is a
-- broken clock's: the key starts anew.
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
  if state.newest_us > clock_us then
    if state.newest_us - clock_us > state.longest_us then
      return fresh(clock_us), nil
    end
    state.now_us = state.newest_us
  end
  if not found[2] then
    return state, nil
  end
  local number = ledger.whole(found[2])
  if number < state.first or number >= state.next or number % 1 ~= 0 then
    return nil, refusal.state(bucket, 'has a receipt without a charge')
  end
  return state, number
end

-- The state as text.
function ledger.format(state)
  local text = string.format('%d %d %d %d', state.first, state.next, state.first_us, state.newest_us)
  for i = 1, #state.windows do
    local row = state.windows[i]
    text = text .. string.format('; %d %d %d %d %d', row.window_us, row.budget_micros, row.spent_micros, row.head, row.head_us)
  end
  if state.lapse_us > 0 or state.penalty_us > 0 or state.barred_us > 0 then
    return text .. string.format('! %d %d %d', state.lapse_us, state.penalty_us, state.barred_us)
  end
  return text
end

return ledger
