--- The overrides of a namespace, in one hash of at most 1,000: a field per subject, and one per budget that has a top-up, and '' for the version.
---
--- The version is the time of the last change, and always increases. So a primary that lost a change never reports that change's
--- version with other overrides.
--- @use clock refusal override_record
--- @lib override_set
local override_set = {}

override_set.max_overrides = 1000

-- Returns the version, 0 without a key; or nil and a refusal.
function override_set.version(key)
  local text = redis.call('HGET', key, '')
  if not text then
    return 0
  end
  local version = clock.parse_us(text)
  if not version then
    return nil, refusal.state(key, 'holds no version of overrides')
  end
  return version
end

-- Reads all overrides as of clock_us: rows, the active ones, and expired, the fields of the others. Or nil and a refusal.
function override_set.read(key, clock_us)
  local rows, expired, version = {}, {}, 0
  local all = redis.call('HGETALL', key) -- rlfunc:ignore key-loop 1001 at most
  for i = 1, #all, 2 do
    if all[i] == '' then
      version = clock.parse_us(all[i + 1])
    else
      local row = override_record.parse(all[i], all[i + 1], clock_us)
      if not row then
        return nil, refusal.state(key, 'holds data that is not an override')
      end
      if row.left_us > 0 then
        rows[#rows + 1] = row
      else
        expired[#expired + 1] = all[i]
      end
    end
  end
  if not version then
    return nil, refusal.state(key, 'holds no version of overrides')
  end
  return {rows = rows, expired = expired, version = version}
end

-- Removes a subject's override from the rows: that of a budget, '' for that of none, or all if budget is nil. Returns their fields.
function override_set.remove(set, subject, budget)
  local removed = {}
  for i = #set.rows, 1, -1 do
    local row = set.rows[i]
    if row.subject == subject and (not budget or row.budget == budget) then
      table.remove(set.rows, i)
      removed[#removed + 1] = override_record.field(row)
    end
  end
  return removed
end

-- Stores a change: deletes expired overrides, writes `row` unless it is nil, and sets a new version and an expiry with the last
-- override. Returns the version.
function override_set.store(key, set, clock_us, row)
  if #set.rows == 0 then
    redis.call('DEL', key)
    return 0
  end
  for i = 1, #set.expired do
    redis.call('HDEL', key, set.expired[i])
  end
  local version, left_us = math.max(set.version + 1, clock_us), 0
  for i = 1, #set.rows do
    left_us = math.max(left_us, set.rows[i].left_us)
  end
  if row then
    redis.call('HSET', key, override_record.field(row), override_record.text(row))
  end
  redis.call('HSET', key, '', string.format('%.0f', version))
  clock.expire(key, left_us)
  return version
end

local function by_subject(one, other)
  if one.subject ~= other.subject then
    return one.subject < other.subject
  end
  return one.budget < other.budget
end

-- Returns the active overrides, by subject and budget.
function override_set.sorted(set)
  table.sort(set.rows, by_subject)
  return set.rows
end

return override_set
