--- A group of limits of one subject, judged together before any is charged.
--- @use limit_kinds refusal
--- @lib limit_set
local limit_set = {}

-- What each kind keeps its state in.
local types = {sliding_log = 'list', sliding_counter = 'string', fixed_window = 'string', gcra = 'string'}

-- Fills all with what the judge of its kind returns for each row. Returns how many refuse the call, and the longest of their
-- waits; or nil and a refusal. A shadow's answer is told, and refuses nothing.
local function judge(limits, clock_us, all)
  local refused, wait_us = 0, 0
  for i = 1, #limits do
    local row = limits[i]
    local judged, failure = limit_kinds.judge[row.kind](row, clock_us)
    if not judged then
      if failure and string.find(failure.err, '^RLARG') then
        return nil, refusal.argument(string.format('limits.%d.%s', i - 1, string.sub(failure.err, 7)))
      end
      return nil, failure
    end
    all[i] = judged
    if not judged.allowed and not row.shadow then
      refused = refused + 1
      if judged.retry_after_us > wait_us then
        wait_us = judged.retry_after_us
      end
    end
  end
  return refused, wait_us
end

-- The refusal for two rows that are one limit; nil when there are none.
local function twice(limits)
  for i = 2, #limits do
    for j = 1, i - 1 do
      if limits[j].state == limits[i].state then
        return refusal.argument('limits must differ in kind or name: two rows would be one limit')
      end
    end
  end
  return nil
end

-- The refusal for a key of another type than its kind has, which no header can tell as the type goes by kind; nil when
-- there is none.
local function unlike(limits)
  for i = 1, #limits do
    local found, wanted = redis.call('TYPE', limits[i].state).ok, types[limits[i].kind]
    if found ~= 'none' and found ~= wanted then
      return refusal.state(limits[i].state, string.format('holds a %s, not a %s', found, wanted))
    end
  end
  return nil
end

-- Judges every row and writes nothing. Returns the answer for each, how many of them refuse the call, and the longest of their
-- waits; or nil and a refusal.
function limit_set.judge(limits, clock_us)
  local same = twice(limits)
  if same then
    return nil, same
  end
  local all = {nil, nil} -- room for two: a table that grows costs more than one that is large
  local fine, refused, wait_us = pcall(judge, limits, clock_us, all)
  if not fine then
    local other = unlike(limits)
    if other then
      return nil, other
    end
    error(refused, 0) -- rlfunc:ignore raised-data raised as it came: the entry knows what to tell
  end
  if not refused then
    return nil, wait_us
  end
  return all, refused, wait_us
end

-- Charges every row that allows, as all do but shadows, and returns whether any row costs.
function limit_set.charge(limits, all, clock_us)
  local costs = false
  for i = 1, #limits do
    local row = limits[i]
    if row.cost > 0 then
      costs = true
      if all[i].allowed then
        limit_kinds.charge[row.kind](row, all[i], clock_us)
      end
    end
  end
  return costs
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

-- The answers of rows that a known receipt passes, whatever they are.
function limit_set.pass(all)
  for i = 1, #all do
    all[i].allowed = true
    all[i].retry_after_us = 0
  end
  return all
end

return limit_set
