--- The tiers of a subject: counted together before an attempt is recorded, which may start a block.
--- @use block_state attempt_need attempt_log strike_log tier_marks packed_times
--- @lib tier_set
local tier_set = {}

-- The highest threshold of the tiers, and their longest window.
function tier_set.need(tiers)
  local most, longest_us = 0, 0
  for number = 1, #tiers do
    local tier = tiers[number]
    if tier.threshold > most then
      most = tier.threshold
    end
    if tier.window_us > longest_us then
      longest_us = tier.window_us
    end
  end
  return most, longest_us
end

-- Counts the attempts in each tier's window, with the call if it is to be recorded, and writes nothing. Returns a table:
-- rows; strikes; tier, the one that the call makes start a block, or 0; and what record needs. Or nil and a refusal.
function tier_set.judge(attempts, pages, tiers, memory_us, clock_us, blocked, recorded)
  if #tiers == 0 or not attempts or not pages then
    return attempt_log.new(attempt_need.none, clock_us)
  end
  local most, longest_us = tier_set.need(tiers)
  local log, no_log = attempt_log.read(attempts, clock_us, most, longest_us, memory_us, blocked)
  if not log then
    return nil, no_log
  end
  local need = log.need
  if log.struck ~= '' then
    local strikes, kept, strike_us = strike_log.count(attempts, log.struck, clock_us, memory_us, need.memory_us)
    if not strikes then
      return nil, kept
    end
    log.strikes = strikes
    log.strikes_kept = kept
    log.strike_us = strike_us
  end
  local rows, more, inside, block_us = {nil, nil}, 0, log.live, 0
  local plain = not log.answered and log.live == log.tail
  if recorded then
    more = 1
  end
  for number = 1, #tiers do
    local row = tiers[number]
    local before, failure = log.live, nil
    if not plain or log.oldest_us <= log.now_us - row.window_us then
      before, failure = attempt_log.unanswered(attempts, pages, log, row)
    end
    if not before then
      return nil, failure
    end
    -- What has left the longest window that anybody needs goes, where no more commands are needed to know it.
    if row.window_us == need.longest_us and not log.answered then
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
    log.kept = math.min(inside, need.most - 1)
  end
  return log
end

-- Records the attempt that was judged, and the block that it starts. Returns how long that lasts, 0 when none does.
function tier_set.record(block, attempts, pages, tiers, log, escalation, clock_us)
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
    log.struck = strike_log.append(log.struck, log.strikes_kept, strike)
    log.strikes = math.min(log.strikes + 1, 64)
    block_us = tiers[log.tier].block_us
    if #escalation > 0 then
      block_us = escalation[math.min(log.strikes, #escalation)].block_us
    end
  elseif log.struck ~= '' then
    log.struck = packed_times.newest(log.struck, log.strikes_kept)
  end
  attempt_log.append(attempts, pages, log, now, clock_us)
  if log.tier > 0 then
    block_state.start(block, log.tier, block_us)
  end
  return math.ceil(block_us / 1000) * 1000
end

return tier_set
