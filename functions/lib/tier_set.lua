--- The tiers of a subject: counted together before an attempt is recorded, which may start a block.
--- @use clock attempt_log strike_log
--- @lib tier_set
local tier_set = {}

-- The longest window of the tiers.
function tier_set.longest_us(tiers)
  local longest_us = 0
  for number = 1, #tiers do
    longest_us = math.max(longest_us, tiers[number].window_us)
  end
  return longest_us
end

local function untiered(clock_us)
  return {rows = {}, strikes = 0, tier = 0, block_us = 0, started = '', keep = 0, longest_us = 0, struck_us = '', strike_us = clock_us}
end

-- Counts the attempts in each tier's window, with the call if it is to be recorded, and writes nothing. Returns a table:
-- rows; strikes; tier, the one that the call makes start a block, or 0; and what record needs. Or nil and a refusal.
function tier_set.judge(attempts, strikes, tiers, memory_us, clock_us, blocked, recorded)
  if #tiers == 0 then
    return untiered(clock_us)
  end
  local longest_us, more = tier_set.longest_us(tiers), 0
  if recorded then
    more = 1
  end
  local log, no_log = attempt_log.read(attempts, clock_us, longest_us, blocked)
  if no_log then
    return nil, no_log
  end
  local struck, struck_us, strike_us, no_strikes = 0, '', clock_us, nil
  if log.struck then
    struck, struck_us, strike_us, no_strikes = strike_log.read(strikes, clock_us, memory_us)
    if no_strikes then
      return nil, no_strikes
    end
  end
  local rows, keep, started, tier, block_us = {}, 0, '', 0, 0
  for number = 1, #tiers do
    local row = tiers[number]
    local before, no_count = attempt_log.count(attempts, log, number, row.window_us)
    if not before then
      return nil, no_count
    end
    keep = math.max(keep, before)
    local count = before + more
    rows[number] = {count = count, remaining = math.max(row.threshold - 1 - count, 0)}
    if recorded and count >= row.threshold then
      started = started .. string.format('%d!', number)
      if row.block_us > block_us then
        tier = number
        block_us = row.block_us
      end
    end
  end
  return {
    rows = rows, strikes = struck, tier = tier, block_us = block_us, started = started, keep = keep, longest_us = longest_us,
    log = log, struck_us = struck_us, strike_us = strike_us,
  }
end

-- Records the attempt that was judged, and the block that it starts. Returns how long that lasts, 0 when none does.
function tier_set.record(block, attempts, strikes, judged, escalation, memory_us, clock_us)
  local log, tier, struck_us = judged.log, judged.tier, judged.struck_us
  if not log then
    return 0
  end
  attempt_log.record(attempts, log, clock_us, judged.longest_us, judged.keep, judged.started, #struck_us + tier > 0)
  if tier == 0 then
    return 0
  end
  judged.strikes = strike_log.record(strikes, judged.strikes, struck_us, judged.strike_us, clock_us, memory_us)
  local block_us = judged.block_us
  if #escalation > 0 then
    block_us = escalation[math.min(judged.strikes, #escalation)].block_us
  end
  local block_ms = math.ceil(block_us / 1000)
  clock.store(block, string.format('tier %d', tier), block_ms)
  return block_ms * 1000
end

return tier_set
