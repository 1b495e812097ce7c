--- The tiers of a subject: counts all of them before it records an attempt, which may start a block.
--- @use block_state attempt_retention attempt_log strike_log tier_marks packed_times
--- @lib attempt_tiers
local attempt_tiers = {}

-- Returns the highest threshold of the tiers and their longest window.
local function retention_of(tiers)
  local max_count, longest_us = 0, 0
  for number = 1, #tiers do
    local tier = tiers[number]
    if tier.threshold > max_count then
      max_count = tier.threshold
    end
    if tier.window_us > longest_us then
      longest_us = tier.window_us
    end
  end
  return max_count, longest_us
end

-- Counts the attempts in each tier's window, including this call if it will be recorded, and writes nothing. Returns a table with
-- rows, strikes, tier (the one that starts a block with this call, or 0) and what record needs; or nil and a refusal.
function attempt_tiers.check(attempts, pages, tiers, memory_us, clock_us, blocked, recorded)
  if not attempts or not pages then
    return attempt_log.new(attempt_retention.none, clock_us)
  end
  local max_count, longest_us = retention_of(tiers)
  local log, no_log = attempt_log.read(attempts, clock_us, max_count, longest_us, memory_us, blocked)
  if not log then
    return nil, no_log
  end
  local retention = log.retention
  if log.strike_times ~= '' then
    local strikes, kept, strike_us = strike_log.count(attempts, log.strike_times, clock_us, memory_us, retention.memory_us)
    if not strikes then
      return nil, kept
    end
    log.strikes = strikes
    log.strikes_kept = kept
    log.strike_us = strike_us
  end
  local rows, more, inside, block_us = {nil, nil}, 0, log.live, 0
  local plain = not log.restarts and log.live == log.tail
  if recorded then
    more = 1
  end
  for number = 1, #tiers do
    local row = tiers[number]
    local before, failure = log.live, nil
    if not plain or log.oldest_us <= log.now_us - row.window_us then
      before, failure = attempt_log.count_for_tier(attempts, pages, log, row)
    end
    if not before then
      return nil, failure
    end
    -- Attempts older than the longest window of all callers are dropped if no further command is needed to find them.
    if row.window_us == retention.longest_us and not log.restarts then
      inside = before
    end
    local count, remaining = before + more, row.threshold - 1 - before - more
    if remaining < 0 then
      remaining = 0
    end
    rows[number] = {count = count, remaining = remaining}
    if recorded and count >= row.threshold then
      if row.block_us > block_us then
        log.tier = number
        block_us = row.block_us
      end
    end
  end
  log.rows = rows
  if recorded then
    log.kept = math.min(inside, retention.max_count - 1)
  end
  return log
end

-- Records the attempt that check counted, and the block that it starts. Returns the block's duration, 0 without a block.
function attempt_tiers.record(block, attempts, pages, tiers, log, escalation, clock_us)
  local now, block_us = packed_times.text(log.now_us), 0
  if log.marks ~= '' or log.tier > 0 then
    log.marks = tier_marks.add(log.marks, tiers, log.rows, log.now_us, now)
  end
  if log.tier > 0 then
    if log.strike_us < clock_us then
      log.strike_us = clock_us
    end
    local strike = now
    if log.strike_us ~= log.now_us then
      strike = packed_times.text(log.strike_us)
    end
    log.strike_times = strike_log.append(log.strike_times, log.strikes_kept, strike)
    log.strikes = math.min(log.strikes + 1, 64)
    block_us = tiers[log.tier].block_us
    if #escalation > 0 then
      block_us = escalation[math.min(log.strikes, #escalation)].block_us
    end
  elseif log.strike_times ~= '' then
    log.strike_times = packed_times.newest(log.strike_times, log.strikes_kept)
  end
  attempt_log.append(attempts, pages, log, now, clock_us)
  if log.tier > 0 then
    block_state.start(block, log.tier, block_us)
  end
  return math.ceil(block_us / 1000) * 1000
end

return attempt_tiers
