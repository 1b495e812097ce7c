--- The tiers of a subject that have started a block: threshold and window of each, in 5 and 15 digits, and the time in 16.
---
--- The 16 newest are kept: twice as many as a call has tiers.
--- @use clock
--- @lib tier_marks
local tier_marks = {width = 36}

local most = 16

-- What tells a tier from others: callers may have other ones, or give them in another order.
function tier_marks.name(tier)
  return string.format('%05.0f%015.0f', tier.threshold, tier.window_us)
end

-- Whether a tier has answered the newest attempt, which it does when the block has ended; and the times up to which tiers have
-- answered, by name, or nil when none has. Nil alone when a mark is none.
function tier_marks.read(marks, newest_us, blocked)
  local answers_newest, answered = false, nil
  for at = 1, #marks, tier_marks.width do
    local time_us = clock.parse_us(string.sub(marks, at + 20, at + 35))
    if not time_us then
      return nil
    end
    if time_us == newest_us then
      answers_newest = true
    end
    if time_us ~= newest_us or not blocked then
      answered = answered or {}
      answered[string.sub(marks, at, at + 19)] = time_us
    end
  end
  return answers_newest, answered
end

-- The marks that still matter at now_us, and those of the tiers that start a block with the attempt of that time, in text: where
-- the rows count the threshold.
function tier_marks.add(marks, tiers, rows, now_us, now)
  local fresh, started = '', {}
  for i = 1, #tiers do
    if rows[i].count >= tiers[i].threshold then
      local name = tier_marks.name(tiers[i])
      if not started[name] then
        started[name] = true
        fresh = fresh .. name .. now
      end
    end
  end
  if marks == '' then
    return fresh
  end
  local kept = ''
  for at = 1, #marks, tier_marks.width do
    local name, time_us = string.sub(marks, at, at + 19), tonumber(string.sub(marks, at + 20, at + 35)) or 0
    local window_us = tonumber(string.sub(name, 6)) or 0
    if not started[name] and time_us > now_us - window_us then
      kept = kept .. string.sub(marks, at, at + 35)
    end
  end
  kept = kept .. fresh
  if #kept > most * tier_marks.width then
    return string.sub(kept, #kept - most * tier_marks.width + 1)
  end
  return kept
end

return tier_marks
