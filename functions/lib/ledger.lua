--- The state of a subject's budgets, kept in field 'state' of its hash of charges.
---
--- Seven numbers: the oldest charge's number and the next one's, the oldest charge's time, the newest time stored, the end
--- of the first hold that may end (0: none), how long a penalty lasts and when the running one ends. Then a row a window:
--- its length, its budget, what is spent in it, and number and time of the oldest charge inside.
--- @use refusal
--- @lib ledger
local ledger = {}

local largest = 9007199254740992

-- How long charges are kept where no window is known yet: something was settled before anything was reserved.
local unknown_us = 86400000000

local function fresh(clock_us, anew)
  return {
    first = 1, next = 1, first_us = 0, newest_us = 0, lapse_us = 0, penalty_us = 0, barred_us = 0,
    windows = {}, lapsed = {}, lapses = {}, longest_us = unknown_us, clock_us = clock_us, now_us = clock_us, anew = anew,
  }
end

-- The number in a text of digits; 0 in another.
function ledger.whole(digits)
  return tonumber(digits) or 0
end

-- The state in a text, or nil when it is none.
local function parse(text, clock_us)
  local first, next_number, first_us, newest_us, lapse_us, penalty_us, barred_us, rest =
    string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)(.*)$')
  if not rest then
    return nil
  end
  local state = fresh(clock_us, false)
  state.first = ledger.whole(first)
  state.next = ledger.whole(next_number)
  state.first_us = ledger.whole(first_us)
  state.newest_us = ledger.whole(newest_us)
  state.lapse_us = ledger.whole(lapse_us)
  state.penalty_us = ledger.whole(penalty_us)
  state.barred_us = ledger.whole(barred_us)
  local most = math.max(state.next, state.first_us, state.newest_us, state.lapse_us, state.penalty_us, state.barred_us)
  local read = 0
  for row, window, budget, spent, head, head_us in string.gmatch(rest, '(; (%d+) (%d+) (%d+) (%d+) (%d+))') do
    local window_us, budget_micros, spent_micros, number, number_us = ledger.whole(window), ledger.whole(budget), ledger.whole(spent), ledger.whole(head), ledger.whole(head_us)
    state.windows[#state.windows + 1] = {
      window_us = window_us, budget_micros = budget_micros, spent_micros = spent_micros, head = number, head_us = number_us,
    }
    read = read + #row
    most = math.max(most, window_us, budget_micros, spent_micros, number_us)
    if number < state.first or number > state.next then
      return nil
    end
    if window_us > state.longest_us or #state.windows == 1 then
      state.longest_us = window_us
    end
  end
  if read ~= #rest or most > largest or state.first < 1 or state.first > state.next then
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
    return fresh(clock_us, false), nil
  end
  local state = parse(found[1], clock_us)
  if not state then
    return nil, refusal.state(bucket, 'has a state that is none')
  end
  if state.newest_us > clock_us then
    if state.newest_us - clock_us > state.longest_us then
      return fresh(clock_us, true), nil
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
  local parts = {string.format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f', state.first, state.next, state.first_us, state.newest_us,
    state.lapse_us, state.penalty_us, state.barred_us)}
  for i = 1, #state.windows do
    local row = state.windows[i]
    parts[i + 1] = string.format('; %.0f %.0f %.0f %.0f %.0f', row.window_us, row.budget_micros, row.spent_micros, row.head, row.head_us)
  end
  return table.concat(parts)
end

return ledger
