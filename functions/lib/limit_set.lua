--- Limits of one or several subjects, judged together before any is charged.
--- @use clock refusal
--- @lib limit_set
local limit_set = {none = {}} -- none is the answers of a group without rows

local answers = {}

-- The refusal of a row, with its place.
local function misplaced(place, failure)
  if failure and string.find(failure.err, '^RLARG ') then
    return refusal.argument(string.format('limits.%d.%s', place - 1, string.sub(failure.err, 7)))
  end
  return failure
end

-- The refusal for a row whose key is that of a row above; nil when there is none.
local function twice(states, place)
  for i = 1, place - 1 do
    if states[i] == states[place] then
      return refusal.argument('limits must differ in kind or name: two rows would be one limit')
    end
  end
  return nil
end

-- What a row takes of a call of that weight.
function limit_set.cost_of(row, weight)
  if row.weighs then
    return row.cost * weight
  end
  return row.cost
end

-- The answers of so many rows: the tables of the call before, whose every field a call writes before it reads it. Making them took a
-- twentieth of a call.
local function answers_of(count)
  local all = answers[count]
  if not all then
    all = {}
    for i = 1, count do
      all[i] = {allowed = true, remaining = 0, reset_after_us = 0, retry_after_us = 0}
    end
    answers[count] = all -- rlfunc:ignore library-state no call reads what another one wrote
  end
  return all
end

-- Charges the rows up to the last-th that allow, as all do but shadows. Returns whether any of them costs.
local function charge(limits, states, all, weight, known, clock_us, last)
  local costs = false
  for i = 1, last do
    local row, answer = limits[i], all[i]
    local cost = row.cost
    if weight ~= 1 then
      cost = limit_set.cost_of(row, weight)
    end
    if answer and cost > 0 and (row.global or not known) then
      costs = true
      if answer.allowed then
        row.charge(row, states[i], cost, clock_us, answer)
      end
    end
  end
  return costs
end

-- Judges every row; a known receipt passes all but global limits. Where taking is set and no row refuses, all are charged, and the last
-- one as it is judged, if its kind does that in fewer commands; else nothing is written. Without the clock it is read where a row needs
-- it. Returns the answer for each row, how many refuse the call, the longest of their waits, how many of those that refuse are not
-- global, and the clock, 0 where no row needed it; or nil and a refusal.
function limit_set.judge(limits, states, weight, known, taking, clock_us)
  local count = #limits
  local all = answers[count] or answers_of(count)
  local refused, longest_us, own, rest = 0, 0, 0, count
  if clock_us == nil then
    clock_us = 0
    if count > 0 and limits[count].clocked then
      clock_us = clock.now_us()
    end
  end
  for i = 1, count do
    local row, answer = limits[i], all[i]
    local cost, decide = row.cost, row.judge
    if weight ~= 1 then
      cost = limit_set.cost_of(row, weight)
    end
    if row.like then
      local same = twice(states, i)
      if same then
        return nil, same
      end
    end
    if taking and i == count and refused == 0 and row.take then
      decide = row.take
      rest = count - 1
    end
    local allowed, left, reset_us, wait_us = decide(row, states[i], cost, clock_us, answer)
    if allowed == nil or reset_us == nil or wait_us == nil then
      return nil, misplaced(i, left)
    end
    if not allowed then
      if known and not row.global then
        allowed = true
        wait_us = 0
      elseif not row.shadow then
        refused = refused + 1
        if not row.global then
          own = own + 1
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
  if taking and refused == 0 and rest > 0 then
    charge(limits, states, all, weight, known, clock_us, rest)
  end
  return all, refused, longest_us, own, clock_us
end

-- Charges every row that allows; for a known receipt only global limits. Returns whether any row costs.
function limit_set.charge(limits, states, all, weight, known, clock_us)
  return charge(limits, states, all, weight, known, clock_us, #limits)
end

-- The longest window of the rows.
function limit_set.longest_us(limits)
  local longest_us = 0
  for i = 1, #limits do
    if limits[i].window_us > longest_us then
      longest_us = limits[i].window_us
    end
  end
  return longest_us
end

return limit_set
