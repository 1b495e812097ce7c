--- A subject's attempts, a sorted set of their times, and its strikes, a list of the blocks that tiers started.
---
--- A strike names the tiers whose thresholds were reached: each counts only later attempts. An attempt is later than those before it, even if
--- the clock is set back. But attempts further ahead than the longest window, and strikes further ahead than the strike memory, are those of
--- a wrong clock and do not count.
--- @use clock refusal block_state
--- @lib attempt_set
--- @state attempts 2 the times of attempts, by themselves
--- @state strikes 1 '<time> <threshold>:<window> ...' of each block, with the tiers that it answered
local attempt_set = {}

local none = {strikes = 0, rows = {}, tier = 0}

-- A subject's last strikes, as indexes of its list.
local first_strike, max_strikes = '-64', 64

-- The rank behind the last that the highest threshold of any tier counts, from the newest.
local past_threshold = '-10001'

local function name(tier)
  return string.format('%.0f:%.0f', tier.threshold, tier.window_us)
end

-- Adds the strikes within a memory, and when each tier was answered last: during a block, before the attempt that started it. Returns nil,
-- or a refusal.
local function read_strikes(set, memory_us, blocked)
  local entries = redis.call('LRANGE', set.strikes_key, first_strike, '-1')
  for i = 1, #entries do
    local at_us = clock.parse_us(string.match(entries[i], '^%d+') or 'x')
    if not at_us then
      return refusal.state(set.strikes_key, 'holds no times of strikes')
    end
    if at_us > set.clock_us - memory_us and at_us <= set.clock_us + memory_us then
      set.strikes = set.strikes + 1
    end
    if at_us <= set.clock_us + set.longest_us and not (blocked and at_us == set.newest_us) then
      set.newest_us = math.max(set.newest_us, at_us)
      for tier in string.gmatch(entries[i], '%d+:%d+') do
        set.answered[tier] = at_us
      end
    end
  end
  return nil
end

-- Counts the attempts in each tier's window, including this call if it will be recorded, and writes nothing. Returns a table with rows,
-- strikes, tier (the one that starts a block with this call, or 0) and what record needs; or nil and a refusal.
function attempt_set.check(attempts, strikes, tiers, memory_us, clock_us, blocked, recorded)
  if not attempts or not strikes then
    return none
  end
  local set = {
    key = attempts, strikes_key = strikes, tiers = tiers, clock_us = clock_us, memory_us = memory_us, newest_us = 0, longest_us = 0,
    strikes = 0, answered = {}, rows = {}, tier = 0, reached = '',
  }
  for i = 1, #tiers do
    set.longest_us = math.max(set.longest_us, tiers[i].window_us)
  end
  local newest = redis.call('ZRANGE', attempts, '-1', '-1')[1]
  local newest_us = clock.parse_us(newest or '0')
  if not newest_us then
    return nil, refusal.state(attempts, 'holds no times of attempts')
  end
  set.ahead = newest_us > clock_us + set.longest_us
  set.newest_us = set.ahead and 0 or newest_us
  local failure = read_strikes(set, memory_us, blocked)
  if failure then
    return nil, failure
  end
  local now_us, block_us, one = math.max(clock_us, set.newest_us), 0, recorded and 1 or 0
  for i = 1, #tiers do
    local tier, count = tiers[i], one
    if newest and not set.ahead then
      local after_us = math.max(now_us - tier.window_us, set.answered[name(tier)] or 0)
      count = count + redis.call('ZCOUNT', attempts, '(' .. clock.text(after_us), '+inf')
    end
    set.rows[i] = {count = count, remaining = math.max(tier.threshold - 1 - count, 0)}
    if recorded and count >= tier.threshold then
      set.reached = set.reached .. ' ' .. name(tier)
      if tier.block_us > block_us then
        set.tier = i
        block_us = tier.block_us
      end
    end
  end
  return set
end

-- Records the attempt that check counted, and the block that it starts. Returns the block's duration, 0 without one.
function attempt_set.record(set, block, escalation)
  local at_us = math.max(set.clock_us, set.newest_us + 1)
  local at, ahead_us = clock.text(at_us), at_us - set.clock_us
  if set.ahead then
    redis.call('UNLINK', set.key)
  end
  redis.call('ZADD', set.key, at, at)
  if clock.extend(set.key, set.longest_us + ahead_us) then -- else a caller with a longer window needs older ones
    redis.call('ZREMRANGEBYSCORE', set.key, '-inf', clock.text(at_us - set.longest_us))
  end
  if set.tier == 0 then
    return 0
  end
  redis.call('ZREMRANGEBYRANK', set.key, '0', past_threshold) -- only short blocks let a window have more
  redis.call('RPUSH', set.strikes_key, at .. set.reached)
  redis.call('LTRIM', set.strikes_key, first_strike, '-1')
  clock.extend(set.strikes_key, math.max(set.memory_us, set.longest_us) + ahead_us)
  set.strikes = math.min(set.strikes + 1, max_strikes)
  local block_us = set.tiers[set.tier].block_us
  if #escalation > 0 then
    block_us = escalation[math.min(set.strikes, #escalation)].block_us
  end
  block_state.start(block, set.tier, block_us)
  return math.ceil(block_us / 1000) * 1000
end

return attempt_set
