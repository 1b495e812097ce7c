--- How long callers need a subject's attempts: the number of attempts, their age, and the age of strikes.
---
--- Callers may differ, as two generations of a service do. Each of the three is the greatest that any caller gave while the
--- subject's key existed, so no call forgets what another one counts.
--- @lib attempt_retention
local attempt_retention = {none = {plain = 'n', head = 'h', headed = false, max_count = 0, longest_us = 0, memory_us = 0}}

-- Retentions by their text, at most 256: nearly all subjects share a few. The last one that was created is often requested again.
-- rlfunc:ignore library-state a text has one meaning, so calls share what it was parsed to
local known = {needs = {}, count = 0, last = attempt_retention.none}

local function keep(text, digits, max_count, longest_us, memory_us)
  local retention = {
    plain = 'n' .. digits, head = 'h' .. digits, headed = string.byte(text) == 104, max_count = max_count, longest_us = longest_us, memory_us = memory_us,
  }
  if known.count == 256 then
    known.needs = {}
    known.count = 0
  end
  known.needs[text] = retention
  known.count = known.count + 1
  return retention
end

-- Parses the first 36 bytes of a log: 'n' or 'h' (with a head), then max_count, longest_us and memory_us in 5, 15 and 15 digits.
-- Returns nil for anything else.
function attempt_retention.parse(text)
  local retention = known.needs[text]
  if retention then
    return retention
  end
  if #text ~= 36 or not string.find(text, '^[nh]%d+$') then
    return nil
  end
  return keep(text, string.sub(text, 2), string.sub(text, 2, 6) + 0, string.sub(text, 7, 21) + 0, string.sub(text, 22) + 0)
end

-- Combines a retention, which may be nil, with what a call needs: the greatest of each.
function attempt_retention.widen(retention, max_count, longest_us, memory_us)
  if retention then
    max_count = math.max(retention.max_count, max_count)
    longest_us = math.max(retention.longest_us, longest_us)
    memory_us = math.max(retention.memory_us, memory_us)
  end
  local last = known.last
  if last.max_count == max_count and last.longest_us == longest_us and last.memory_us == memory_us then
    return last
  end
  local digits = string.format('%05.0f%015.0f%015.0f', max_count, longest_us, memory_us)
  last = keep('n' .. digits, digits, max_count, longest_us, memory_us)
  known.last = last
  return last
end

return attempt_retention
