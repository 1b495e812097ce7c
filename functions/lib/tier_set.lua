--- The tiers of a subject: counted together before an attempt is recorded, which may start a block.
--- @use clock block_state attempt_log strike_log packed_times
--- @lib tier_set
local tier_set = {}

-- The longest window of the tiers.
function tier_set.longest_us(tiers)
  local longest_us = 0
  for number = 1, #tiers do
    if tiers[number].window_us > longest_us then
      longest_us = tiers[number].window_us
    end
  end
  return longest_us
end

local function untiered(clock_us)
  return {
    rows = {}, strikes = 0, tier = 0, times = '', keep = 0, now_us = clock_us,
    struck = '', strike_us = clock_us, started = '', block_us = 0, longest_us = 0,
  }
end

-- Counts the attempts in each tier's window, with the call if it is to be recorded, and writes nothing. Returns a table:
-- rows; strikes; tier, the one that the call makes start a block, or 0; and what record needs. Or nil and a refusal.
function tier_set.judge(attempts, tiers, memory_us, clock_us, blocked, recorded)
  if #tiers == 0 then
    return untiered(clock_us)
  end
  local longest_us, more = tier_set.longest_us(tiers), 0
  if recorded then
    more = 1
  end
  local times, length, oldest_us, now_us, answered_us, struck = attempt_log.read(attempts, clock_us, longest_us, blocked)
  if not times then
    return nil, length
  end
  local strikes, strike_us = strike_log.count(attempts, struck, clock_us, memory_us)
  if not strikes then
    return nil, strike_us
  end
  local rows, keep, started, tier, block_us = {nil, nil}, 0, '', 0, 0
  for number = 1, #tiers do
    local row = tiers[number]
    local horizon_us, before, no_count = now_us - row.window_us, length, nil
    if answered_us or oldest_us <= horizon_us then
      before, no_count = attempt_log.count(attempts, times, length, oldest_us, horizon_us, answered_us, number)
    end
    if not before then
      return nil, no_count
    end
    if before > keep then
      keep = before
    end
    local count, remaining = before + more, row.threshold - 1 - before - more
    if remaining < 0 then
      remaining = 0
    end
    rows[number] = {count = count, remaining = remaining}
    if recorded and count >= row.threshold then
      started = started .. string.format('%d!', number)
      if row.block_us > block_us then
        tier = number
        block_us = row.block_us
      end
    end
  end
  return {
    rows = rows, strikes = strikes, tier = tier, times = times, keep = keep, now_us = now_us, answered_us = answered_us,
    struck = struck, strike_us = strike_us, started = started, block_us = block_us, longest_us = longest_us,
  }
end

-- Records the attempt that was judged, and the block that it starts. Returns how long that lasts, 0 when none does.
function tier_set.record(block, attempts, judged, escalation, memory_us, clock_us)
  local now_us, struck, strike_us = judged.now_us, judged.struck, judged.strike_us
  local now = packed_times.text(now_us)
  local block_us = 0
  if judged.tier > 0 then
    if strike_us < clock_us then
      strike_us = clock_us
    end
    local strike, strikes = now, 0
    if strike_us ~= now_us then
      strike = packed_times.text(strike_us)
    end
    struck, strikes = strike_log.append(struck, judged.strikes, strike)
    judged.strikes = strikes
    block_us = judged.block_us
    if #escalation > 0 then
      block_us = escalation[math.min(strikes, #escalation)].block_us
    end
    block_state.start(block, judged.tier, block_us)
  elseif struck ~= '' then
    struck = packed_times.newest(struck, judged.strikes)
  end
  -- As long as the last attempt or the last strike may count.
  local kept_us = judged.longest_us + now_us
  if judged.strikes > 0 and strike_us + memory_us > kept_us then
    kept_us = strike_us + memory_us
  end
  local text = attempt_log.text(
    packed_times.newest(judged.times, judged.keep) .. now, struck, judged.started, judged.answered_us, now_us - judged.longest_us)
  local span_us = kept_us - clock_us
  if span_us == judged.longest_us or span_us == memory_us then
    clock.store_for(attempts, text, span_us)
  else
    clock.store(attempts, text, math.ceil(span_us / 1000))
  end
  return math.ceil(block_us / 1000) * 1000
end

return tier_set
