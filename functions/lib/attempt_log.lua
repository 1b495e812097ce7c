--- The attempts of a subject in one string: their times, and what the tiers have answered with a block.
---
--- In front of the times, '2@<time>' says that tier 2 has answered the attempts up to that time, '2!' that it has started
--- the last block, and 's' that there may be strikes. A tier counts anew once its block has ended: what it has answered is
--- not held against the subject twice, though other tiers go on counting it.
--- @use clock refusal packed_times
--- @lib attempt_log
--- @state attempt_log 1 times of 16 digits, oldest first, behind what the tiers have answered: '2@<time>', '2!', 's'
local attempt_log = {}

local function fresh(clock_us)
  return {now_us = clock_us, times = '', length = 0, oldest_us = clock_us, struck = true}
end

local function unreadable(key, clock_us)
  return fresh(clock_us), refusal.state(key, 'holds no times of attempts')
end

-- What stands in front of the times: by tier the time up to which it has answered; the tiers that started the last block;
-- and where the times begin. Or nil.
local function read_head(text)
  local answered_us, last, from = {}, {}, 1
  if string.find(text, '^s') then
    from = 2
  end
  local tier, sign = string.match(text, '^([1-8])([@!])', from)
  while tier do
    local number = tonumber(tier) or 0
    if sign == '!' then
      last[#last + 1] = number
      from = from + 2
    else
      answered_us[number] = clock.parse_us(string.sub(text, from + 2, from + 17))
      if not answered_us[number] then
        return nil
      end
      from = from + 18
    end
    tier, sign = string.match(text, '^([1-8])([@!])', from)
  end
  return answered_us, last, from
end

-- Reads the attempts as a call at clock_us sees them that looks back longest_us at most. Returns a table: now_us, the
-- later of the clock and the newest attempt; times, length and oldest_us; answered_us by tier, or nil; and struck, whether
-- there may be strikes. A second result is a refusal.
-- A newest attempt that is further ahead than longest_us is a broken clock's: the subject starts anew.
function attempt_log.read(key, clock_us, longest_us, blocked)
  local text = redis.call('GET', key)
  if not text then
    return fresh(clock_us)
  end
  local times, answered_us, last = text, nil, nil
  if not string.find(text, '^%d%d') then
    local head_us, started, from = read_head(text)
    if not head_us then
      return unreadable(key, clock_us)
    end
    times = string.sub(text, from)
    answered_us = head_us
    last = started
  end
  local oldest_us = clock.parse_us(string.sub(times, 1, 16))
  local newest_us = clock.parse_us(string.sub(times, -16))
  if not oldest_us or not newest_us or #times % 16 > 0 then
    return unreadable(key, clock_us)
  end
  if newest_us - clock_us > longest_us then
    return fresh(clock_us)
  end
  local now_us = math.max(clock_us, newest_us)
  if last and last[1] and not blocked then
    for i = 1, #last do
      answered_us[last[i]] = newest_us
    end
    -- What comes after has to be later, also in the same microsecond.
    now_us = math.max(now_us, newest_us + 1)
  end
  local length = math.floor(#times / 16)
  return {now_us = now_us, times = times, length = length, oldest_us = oldest_us, answered_us = answered_us, struck = answered_us ~= nil}
end

-- How many attempts a tier counts; nil and a refusal when it reads one that is no time.
function attempt_log.count(key, log, tier, window_us)
  local horizon_us = log.now_us - window_us
  local answered_us = log.answered_us and log.answered_us[tier]
  if answered_us and answered_us > horizon_us then
    horizon_us = answered_us
  end
  if log.oldest_us > horizon_us then
    return log.length
  end
  local count = packed_times.count_after(log.times, log.length, horizon_us)
  if not count then
    return nil, refusal.state(key, 'holds no times of attempts')
  end
  return count
end

-- Records an attempt, behind the newest `keep` of the others: no tier counts those before. started lists the tiers that it
-- makes start a block, as '1!3!'; struck says that there may be strikes.
function attempt_log.record(key, log, clock_us, longest_us, keep, started, struck)
  local head = started
  if log.answered_us and keep > 0 then
    for tier = 8, 1, -1 do
      local answered_us = log.answered_us[tier] or 0
      if answered_us > log.now_us - longest_us then
        head = string.format('%d@%016.0f', tier, answered_us) .. head
      end
    end
  end
  if struck then
    head = 's' .. head
  end
  local value = head .. packed_times.append(log.times, keep, log.now_us)
  clock.store(key, value, math.ceil((longest_us + log.now_us - clock_us) / 1000))
end

return attempt_log
