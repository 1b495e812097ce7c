--- How much of a log its callers need: the longest of their windows and the highest of their limits.
--- @use whole_number
--- @lib window_log_retention
local window_log_retention = {}

-- Retentions by their text, and by limit and window, at most 256. Limits and windows are negated as keys: gopher-lua allocates a
-- table up to its greatest number.
-- rlfunc:ignore library-state a retention has one text
local kept = {by_text = {}, by_limit = {}, count = 0}

local function keep(text, limit, window_us)
  if kept.count == 256 then
    kept.by_text = {}
    kept.by_limit = {}
    kept.count = 0
  end
  local retention = {text = text, limit = limit, window_us = window_us}
  local of_limit = kept.by_limit[-limit]
  if not of_limit then
    of_limit = {}
    kept.by_limit[-limit] = of_limit
  end
  of_limit[-window_us] = retention
  kept.by_text[text] = retention
  kept.count = kept.count + 1
  return retention
end

-- Returns the retention of one caller: a table of text, limit and window_us.
function window_log_retention.of(limit, window_us)
  local of_limit = kept.by_limit[-limit]
  return of_limit and of_limit[-window_us] or keep(string.format('%.0f %.0f', window_us, limit), limit, window_us)
end

-- Parses '<window in microseconds> <limit>'; returns nil if the text is invalid.
function window_log_retention.parse(text)
  local retention = kept.by_text[text]
  if retention then
    return retention
  end
  local window, limit = string.match(text, '^(%d+) (%d+)$')
  if not window then
    return nil
  end
  local window_us, max_limit = whole_number.parse(window, 315360000000000), whole_number.parse(limit, 1000000)
  if not window_us or not max_limit then
    return nil
  end
  return keep(text, max_limit, window_us)
end

return window_log_retention
