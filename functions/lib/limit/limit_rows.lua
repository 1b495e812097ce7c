--- The limits of a call, of one subject or several: all are checked before any is charged.
--- @use clock refusal
--- @lib limit_rows
local limit_rows = {none = {}} -- the result of a group without rows

-- rlfunc:ignore library-state every call writes before it reads
local answers = {}

-- Adds the row's number to a refusal.
local function with_row_number(place, failure)
  if failure and string.find(failure.err, '^RLARG ') then
    return refusal.argument(string.format('limits.%d.%s', place - 1, string.sub(failure.err, 7)))
  end
  return failure
end

-- Returns a refusal if an earlier row has the same key, otherwise nil.
local function duplicate_key(states, place)
  for i = 1, place - 1 do
    if states[i] == states[place] then
      return refusal.argument('limits must differ in kind or name: two rows would be one limit')
    end
  end
  return nil
end

local too_much = refusal.argument('cost must be at most limit: it can never be allowed')

-- Creates `count` results. They are reused by later calls, because creating them took a twentieth of a call; a call writes every
-- field before it reads it.
local function new_answers(count)
  local all = {}
  for i = 1, count do
    all[i] = {allowed = true, remaining = 0, reset_after_us = 0, retry_after_us = 0, cost = 0}
  end
  answers[count] = all
  return all
end

-- Charges the first `last` rows that allow the call: all but refusing shadow limits. Returns whether any of them costs.
local function charge(limits, states, all, known, clock_us, last)
  local any_cost = false
  for i = 1, last do
    local row, answer = limits[i], all[i]
    if answer and answer.cost > 0 and (row.global or not known) then
      any_cost = true
      if answer.allowed then
        answer.reset_after_us = row.charge(row, states[i], answer.cost, clock_us, answer)
        answer.remaining = answer.remaining - answer.cost
      end
    end
  end
  return any_cost
end

-- Checks every row; only global limits can refuse a known receipt. If `taking` is set and no row refuses, all rows are charged,
-- the last one while it is checked if its kind can do both in fewer commands. Otherwise nothing is written. If clock_us is nil,
-- it is read if a row needs it. numbers are the rows' numbers in the call, if some were left out. Returns the result of each row,
-- the number of refusals, the longest of their waits, the number of refusals by limits that are not global, and the clock, 0 if no
-- row needed it; or nil and a refusal. holder is that of the call, '' if it only looks, nil without one.
function limit_rows.check(limits, states, weight, known, taking, clock_us, numbers, holder)
  local count = #limits
  local all = answers[count] or new_answers(count)
  local refused, longest_us, refused_not_global, charged_here = 0, 0, 0, count
  if clock_us == nil then
    clock_us = 0
    if count > 0 and limits[count].clock_needed_so_far then
      clock_us = clock.now_us()
    end
  end
  for i = 1, count do
    local row, answer = limits[i], all[i]
    local cost, decide = row.cost, row.check
    if weight ~= 1 and row.weighted then
      cost = cost * weight
    end
    answer.cost = cost
    if row.same_name_above then
      local same = duplicate_key(states, i)
      if same then
        return nil, same
      end
    end
    if cost > row.most and not row.shadow then
      return nil, with_row_number(numbers and numbers[i] or i, too_much)
    end
    if taking and i == count and refused == 0 and row.take then
      decide = row.take
      charged_here = count - 1
    end
    local allowed, left, reset_us, wait_us = decide(row, states[i], cost, clock_us, answer, holder)
    if allowed == nil or reset_us == nil or wait_us == nil then
      return nil, with_row_number(numbers and numbers[i] or i, left)
    end
    if not allowed then
      if known and not row.global then
        allowed = true
        wait_us = 0
      elseif not row.shadow then
        refused = refused + 1
        if not row.global then
          refused_not_global = refused_not_global + 1
        end
        if wait_us > longest_us then
          longest_us = wait_us
        end
      end
    end
    answer.allowed = allowed
    answer.remaining = left
    answer.reset_after_us = reset_us
    answer.retry_after_us = wait_us
  end
  if taking and refused == 0 and charged_here > 0 then
    charge(limits, states, all, known, clock_us, charged_here)
  end
  return all, refused, longest_us, refused_not_global, clock_us
end

-- Charges what check returned, every row that allows the call; for a known receipt only global limits. Returns whether any row costs.
function limit_rows.charge(limits, states, all, known, clock_us)
  return charge(limits, states, all, known, clock_us, #limits)
end

-- Returns the longest window of the rows.
function limit_rows.longest_us(limits)
  local longest_us = 0
  for i = 1, #limits do
    if limits[i].window_us > longest_us then
      longest_us = limits[i].window_us
    end
  end
  return longest_us
end

return limit_rows
