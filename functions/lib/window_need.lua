--- What the callers of a log need of it: the longest of their windows and the highest of their limits.
--- @use whole
--- @lib window_need
local window_need = {}

-- Needs by their text, and by limit and window; 256 at most. Limits and windows stand below 0: in gopher-lua a table has room
-- up to its greatest number.
local kept = {by_text = {}, by_limit = {}, count = 0}

local function keep(text, limit, window_us)
  if kept.count == 256 then
    kept.by_text = {} -- rlfunc:ignore library-state a need has one text
    kept.by_limit = {} -- rlfunc:ignore library-state as above
    kept.count = 0 -- rlfunc:ignore library-state as above
  end
  local need = {text = text, limit = limit, window_us = window_us}
  local of_limit = kept.by_limit[-limit]
  if not of_limit then
    of_limit = {}
    kept.by_limit[-limit] = of_limit
  end
  of_limit[-window_us] = need
  kept.by_text[text] = need
  kept.count = kept.count + 1 -- rlfunc:ignore library-state as above
  return need
end

-- The need of one caller: a table of text, limit and window_us.
function window_need.of(limit, window_us)
  local of_limit = kept.by_limit[-limit]
  return of_limit and of_limit[-window_us] or keep(string.format('%.0f %.0f', window_us, limit), limit, window_us)
end

-- The need that a text says, '<window in microseconds> <limit>'; nil when it says none.
function window_need.parse(text)
  local need = kept.by_text[text]
  if need then
    return need
  end
  local window, limit = string.match(text, '^(%d+) (%d+)$')
  if not window then
    return nil
  end
  local window_us, most = whole.parse(window, 315360000000000), whole.parse(limit, 1000000)
  if not window_us or not most then
    return nil
  end
  return keep(text, most, window_us)
end

return window_need
