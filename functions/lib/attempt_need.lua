--- What callers need of a subject's attempts: how many are kept and how long, and how long strikes are remembered.
---
--- Callers may differ, as two generations of a service do: each of the three is the greatest that any caller gave while the
--- subject's key lived. So no call forgets what another one counts.
--- @lib attempt_need
local attempt_need = {none = {plain = 'n', head = 'h', headed = false, most = 0, longest_us = 0, memory_us = 0}}

-- Needs by their text, 256 at most: nearly all subjects have the same few. The last one that was made is often made again.
local known = {needs = {}, count = 0, last = attempt_need.none}

local function keep(text, digits, most, longest_us, memory_us)
  local need = {
    plain = 'n' .. digits, head = 'h' .. digits, headed = string.byte(text) == 104, most = most, longest_us = longest_us, memory_us = memory_us,
  }
  if known.count == 256 then
    known.needs = {} -- rlfunc:ignore library-state a text has one meaning
    known.count = 0 -- rlfunc:ignore library-state as above
  end
  known.needs[text] = need
  known.count = known.count + 1 -- rlfunc:ignore library-state as above
  return need
end

-- The need of a log's first 36 bytes: 'n', or 'h' where it has a head, and most, longest_us and memory_us in 5, 15 and 15
-- digits. Nil when it is none.
function attempt_need.parse(text)
  local need = known.needs[text]
  if need then
    return need
  end
  if #text ~= 36 or not string.find(text, '^[nh]%d+$') then
    return nil
  end
  return keep(text, string.sub(text, 2), string.sub(text, 2, 6) + 0, string.sub(text, 7, 21) + 0, string.sub(text, 22) + 0)
end

-- A need, which may be nil, and what a call needs: the greatest of each.
function attempt_need.widen(need, most, longest_us, memory_us)
  if need then
    most = math.max(need.most, most)
    longest_us = math.max(need.longest_us, longest_us)
    memory_us = math.max(need.memory_us, memory_us)
  end
  local last = known.last
  if last.most == most and last.longest_us == longest_us and last.memory_us == memory_us then
    return last
  end
  local digits = string.format('%05.0f%015.0f%015.0f', most, longest_us, memory_us)
  last = keep('n' .. digits, digits, most, longest_us, memory_us)
  known.last = last -- rlfunc:ignore library-state as above
  return last
end

return attempt_need
