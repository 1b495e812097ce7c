--- Returns whether a subject is blocked, by which tier and for how long, and its counts; writes nothing.
--- @use clock block_state attempt_log strike_log attempt_tiers
--- @flags  no-writes
--- @key    bucket          string[block]        the block: active while the key exists
--- @key    attempts        string[attempts]     when attempts were made and blocks began
--- @key    pages           zset[attempt_pages]  older attempts, if there are more than 12
--- @arg    tiers           group[0..8]          tiers to count for, as in attempt
--- @arg    tiers.threshold count[1..10000]      attempt that starts the tier's block
--- @arg    tiers.window    duration[1us..3650d] time in which attempts are counted
--- @arg    strike_memory   duration[1ms..3650d]=30d how long a block counts as a strike, from its beginning
--- @result blocked         bool                 whether a block is active
--- @result tier            count[0..8]          tier that started it: 2; 0 when not blocked, or blocked manually
--- @result reason          text[0..256]         reason given to block; empty without one
--- @result retry_after     duration             time until the block expires, exact to the millisecond; 0 when not blocked
--- @result strikes         count[0..64]         blocks within the strike memory: 0 to 64
--- @result tiers           group                one row per tier
--- @result tiers.count     count[0..1000000]    attempts in the tier's window: 3
--- @error  RLSTATE                              a key holds data that this library did not write, or a block that never ends
local function status(bucket, attempts, pages, tiers, strike_memory_us)
  local left_ms, tier, reason = block_state.read(bucket)
  if not left_ms then
    return nil, tier
  end
  local clock_us, blocked = clock.now_us(), left_ms > 0
  local max_count, longest_us = attempt_tiers.retention(tiers)
  local log, no_log = attempt_log.read(attempts, clock_us, max_count, longest_us, strike_memory_us, blocked)
  if not log then
    return nil, no_log
  end
  local strikes, no_strikes = strike_log.count(attempts, log.strike_times, clock_us, strike_memory_us, log.retention.memory_us)
  if not strikes then
    return nil, no_strikes
  end
  local rows = {}
  for number = 1, #tiers do
    local count, no_count = attempt_log.count_for_tier(attempts, pages, log, tiers[number])
    if not count then
      return nil, no_count
    end
    rows[number] = {count = count}
  end
  return blocked, tier, reason, left_ms * 1000, strikes, rows
end
