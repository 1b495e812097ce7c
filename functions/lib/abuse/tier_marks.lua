--- The tiers of a subject that have started a block: threshold and window of each in 5 and 15 digits, and the time in 16.
---
--- The newest 16 are kept: twice as many as a call has tiers.
--- @use clock
--- @lib tier_marks
local tier_marks = {width = 36}

local max_marks = 16

-- Identifies a tier: callers may have other tiers, or another order.
function tier_marks.name(tier)
  return string.format('%05.0f%015.0f', tier.threshold, tier.window_us)
end

-- Returns whether a tier started a block at the newest attempt, and by tier name the time from which each tier counts again, nil
-- if there is none. During a block the newest attempt's tiers are left out. Returns only nil if a mark is invalid.
function tier_marks.read(marks, newest_us, blocked)
  local newest_restarts, restarts = false, nil
  for at = 1, #marks, tier_marks.width do
    local time_us = clock.parse_us(string.sub(marks, at + 20, at + 35))
    if not time_us then
      return nil
    end
    if time_us == newest_us then
      newest_restarts = true
    end
    if time_us ~= newest_us or not blocked then
      restarts = restarts or {}
      restarts[string.sub(marks, at, at + 19)] = time_us
    end
  end
  return newest_restarts, restarts
end

-- Returns the marks that still matter at now_us, and new ones for the tiers whose count reaches their threshold with the attempt
-- at `now`, a time as text.
function tier_marks.add(marks, tiers, rows, now_us, now)
  local added, started = '', {}
  for i = 1, #tiers do
    if rows[i].count >= tiers[i].threshold then
      local name = tier_marks.name(tiers[i])
      if not started[name] then
        started[name] = true
        added = added .. name .. now
      end
    end
  end
  if marks == '' then
    return added
  end
  local kept = ''
  for at = 1, #marks, tier_marks.width do
    local name, time_us = string.sub(marks, at, at + 19), tonumber(string.sub(marks, at + 20, at + 35)) or 0
    local window_us = tonumber(string.sub(name, 6)) or 0
    if not started[name] and time_us > now_us - window_us then
      kept = kept .. string.sub(marks, at, at + 35)
    end
  end
  kept = kept .. added
  if #kept > max_marks * tier_marks.width then
    return string.sub(kept, #kept - max_marks * tier_marks.width + 1)
  end
  return kept
end

return tier_marks
