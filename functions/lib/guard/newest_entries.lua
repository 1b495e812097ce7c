--- The newest entries of a subject's keys, as rows of a result.
--- @use clock challenge_record challenge_set
--- @lib newest_entries
local newest_entries = {}

newest_entries.max_rows = 100

local max_rows = newest_entries.max_rows

-- Returns the times with which texts begin; nil if one does not.
function newest_entries.times(texts)
  local rows = {}
  for i = 1, #texts do
    local at_us = clock.parse_us(string.match(texts[i], '^%d+') or 'x')
    if not at_us then
      return nil
    end
    rows[i] = {at_us = at_us}
  end
  return rows
end

local function by_number(one, other)
  return one.number < other.number
end

-- Returns the newest challenges, in the order of their issue; or nil and a refusal.
function newest_entries.challenges(key, clock_us)
  local set, no_set = challenge_set.read(key, clock_us)
  if not set then
    return nil, no_set
  end
  local rows, newest = set.open, {}
  for i = 1, #rows do
    rows[i].state = 'unused'
    rows[i].payload = challenge_record.payload(rows[i].text)
  end
  for i = 1, #set.used do
    set.used[i].state = 'consumed'
    set.used[i].payload = ''
    rows[#rows + 1] = set.used[i]
  end
  table.sort(rows, by_number)
  for i = math.max(1, #rows - max_rows + 1), #rows do
    newest[#newest + 1] = rows[i]
  end
  return newest
end

return newest_entries
