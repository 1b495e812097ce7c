--- The overrides of a namespace, in one hash of at most 1,000: a field per subject, and '' for the version.
---
--- The version is the time of the last change, and always increases. So a primary that lost a change never reports that change's
--- version with other overrides.
--- @use clock refusal
--- @lib override_set
--- @state override_set 1 '<effect> <factor> <end> <set> <length of by> <by><reason>' in the field of the subject; '' is the version
local override_set = {}

override_set.max_overrides = 1000

-- Parses an override as of clock_us; nil if it is invalid. If the clock was set back, it has at most its original duration left.
local function parse(subject, text, clock_us)
  local effect, factor, ends, set, length, rest = string.match(text, '^(%l+) (%d+) (%d+) (%d+) (%d+) (.*)$')
  if not effect or subject == '' or effect ~= 'allow' and effect ~= 'deny' and effect ~= 'multiply' then
    return nil
  end
  local times, ends_us, set_us, size = tonumber(factor), clock.parse_us(ends), clock.parse_us(set), tonumber(length)
  if not ends_us or not set_us or ends_us <= set_us or not times or times > 1000000 or not size or size < 1 or size >= #rest then
    return nil
  end
  return {
    subject = subject, effect = effect, factor = times, ends_us = ends_us, set_us = set_us,
    left_us = math.min(ends_us - clock_us, ends_us - set_us), by = string.sub(rest, 1, size), reason = string.sub(rest, size + 1),
  }
end

-- Formats an override.
local function text(row)
  return string.format('%s %.0f %.0f %.0f %.0f ', row.effect, row.factor, row.ends_us, row.set_us, #row.by) .. row.by .. row.reason
end

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

-- Reads all overrides as of clock_us: rows, the active ones, and expired, the subjects of the others. Or nil and a refusal.
function override_set.read(key, clock_us)
  local rows, expired, version = {}, {}, 0
  local all = redis.call('HGETALL', key) -- rlfunc:ignore key-loop 1001 at max_overrides
  for i = 1, #all, 2 do
    if all[i] == '' then
      version = clock.parse_us(all[i + 1])
    else
      local row = parse(all[i], all[i + 1], clock_us)
      if not row then
        return nil, refusal.state(key, 'holds data that is not an override')
      end
      if row.left_us > 0 then
        rows[#rows + 1] = row
      else
        expired[#expired + 1] = row.subject
      end
    end
  end
  if not version then
    return nil, refusal.state(key, 'holds no version of overrides')
  end
  return {rows = rows, expired = expired, version = version}
end

-- Removes a subject's override from the rows; returns whether there was one.
function override_set.remove(set, subject)
  for i = 1, #set.rows do
    if set.rows[i].subject == subject then
      table.remove(set.rows, i)
      return true
    end
  end
  return false
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
    redis.call('HSET', key, row.subject, text(row))
  end
  redis.call('HSET', key, '', string.format('%.0f', version))
  clock.expire(key, left_us)
  return version
end

local function by_subject(one, other)
  return one.subject < other.subject
end

-- Returns the active overrides, by subject.
function override_set.sorted(set)
  table.sort(set.rows, by_subject)
  return set.rows
end

return override_set
