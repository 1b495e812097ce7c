--- Tells whether a subject is blocked, by what and for how long, and what is known of it; changes nothing.
--- @use clock block_state attempt_log strike_log tier_set
--- @flags  no-writes
--- @key    bucket          string[block]        the block: it holds while the key is there
--- @key    attempts        string[attempts]     when attempts were made and blocks began
--- @key    pages           zset[attempt_pages]  older attempts, where there are more than 12
--- @arg    tiers           group[0..8]          the tiers to count for, as attempt has them
--- @arg    tiers.threshold count[1..10000]      the attempt that starts the tier's block
--- @arg    tiers.window    duration[1us..3650d] time in which attempts are counted
--- @arg    strike_memory   duration[1ms..3650d]=30d how long a block is remembered, from its beginning
--- @result blocked         bool                 whether a block holds
--- @result tier            count[0..8]          the tier that started it: 2; 0 when not blocked, or by hand
--- @result reason          text[0..256]         the reason given to block; empty without one
--- @result retry_after     duration             what the block has left, exact to the millisecond; 0 when not blocked
--- @result strikes         count[0..64]         blocks within the strike memory: 0 to 64
--- @result tiers           group                a row for each tier
--- @result tiers.count     count[0..1000000]    attempts in the tier's window: 3
--- @error  RLSTATE                              a key holds what this library does not write, or a block that never ends
local function status(bucket, attempts, pages, tiers, strike_memory_us)
  local left_ms, tier, reason = block_state.read(bucket)
  if not left_ms then
    return nil, tier
  end
  local clock_us, blocked = clock.now_us(), left_ms > 0
  local most, longest_us = tier_set.need(tiers)
  local log, no_log = attempt_log.read(attempts, clock_us, most, longest_us, strike_memory_us, blocked)
  if not log then
    return nil, no_log
  end
  local strikes, no_strikes = strike_log.count(attempts, log.struck, clock_us, strike_memory_us, log.need.memory_us)
  if not strikes then
    return nil, no_strikes
  end
  local rows = {}
  for number = 1, #tiers do
    local count, no_count = attempt_log.unanswered(attempts, pages, log, tiers[number])
    if not count then
      return nil, no_count
    end
    rows[number] = {count = count}
  end
  return blocked, tier, reason, left_ms * 1000, strikes, rows
end
