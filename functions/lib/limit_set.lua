--- Limits of one or several subjects, judged together before any is charged.
--- @use clock refusal
--- @lib limit_set
local limit_set = {none = {}} -- none is the answers of a group without rows

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

-- The clock, or 0 where no row needs it.
function limit_set.clock_us(limits)
  if #limits > 0 and limits[#limits].clocked then
    return clock.now_us()
  end
  return 0
end

-- Judges every row and writes nothing; a known receipt passes all but global limits. Where taking is set and no row above refuses, the
-- last row is charged as it is judged, in fewer commands. Returns the answer for each row, how many refuse the call, the longest of
-- their waits, and how many of those that refuse are not global; or nil and a refusal.
function limit_set.judge(limits, states, weight, known, clock_us, taking)
  local all, refused, wait_us, own, count = {nil, nil}, 0, 0, 0, #limits -- room for two: a table that grows costs more than a large one
  for i = 1, count do
    local row = limits[i]
    local decide = row.judge
    if row.like then
      local same = twice(states, i)
      if same then
        return nil, same
      end
    end
    if taking and i == count and refused == 0 then
      decide = row.take
    end
    local judged, failure = decide(row, states[i], limit_set.cost_of(row, weight), clock_us)
    if not judged then
      return nil, misplaced(i, failure)
    end
    all[i] = judged
    if known and not row.global then
      judged.allowed = true
      judged.retry_after_us = 0
    elseif not judged.allowed and not row.shadow then
      refused = refused + 1
      if not row.global then
        own = own + 1
      end
      if judged.retry_after_us > wait_us then
        wait_us = judged.retry_after_us
      end
    end
  end
  return all, refused, wait_us, own
end

-- Charges the rows up to the last-th that allow, as all do but shadows. Returns whether any of them costs.
local function charge(limits, states, all, weight, known, clock_us, last)
  local costs = false
  for i = 1, last do
    local row, judged = limits[i], all[i]
    local cost = limit_set.cost_of(row, weight)
    if judged and cost > 0 and (row.global or not known) then
      costs = true
      if judged.allowed then
        row.charge(row, states[i], cost, judged, clock_us)
      end
    end
  end
  return costs
end

-- Charges every row that allows; for a known receipt only global limits. Returns whether any row costs.
function limit_set.charge(limits, states, all, weight, known, clock_us)
  return charge(limits, states, all, weight, known, clock_us, #limits)
end

-- Judges every row, and charges all if none refuses. Returns what judge returns.
function limit_set.take(limits, states, weight, clock_us)
  local all, refused, wait_us = limit_set.judge(limits, states, weight, false, clock_us, true)
  if not all then
    return nil, refused
  end
  if refused == 0 and #limits > 1 then
    charge(limits, states, all, weight, false, clock_us, #limits - 1)
  end
  return all, refused, wait_us
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
