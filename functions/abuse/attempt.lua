--- Records an attempt, and blocks the subject when it is the threshold-th one in a tier's window.
---
--- A block is looked at first, so it holds to its end even when the windows have emptied, and what is attempted meanwhile
--- is not recorded. The attempt that starts a block is refused. When several tiers would start one at once it is the
--- longest, and one strike. A tier that has started a block counts anew after it: at retry_after an attempt passes,
--- unless it is the threshold-th of another tier or the threshold is 1.
---
--- With an escalation the k-th block within the strike memory lasts the k-th duration in place of the tier's, and the last
--- duration repeats. A block is its key's expiry, so the tick of retry_after is a millisecond. A subject takes 16 bytes an
--- attempt, about 25 where there are more than 12, at most as many as the highest threshold, and 16 bytes a strike.
---
--- Callers may give other tiers and another strike memory for one bucket, as two generations of a service do. Each tier, by its
--- threshold and window, counts the attempts of all; what the highest threshold, the longest window or the longest strike memory
--- that any of them gave may need is kept for as long as the attempts.
--- @use clock block_state tier_set
--- @key    bucket          string[block]        the block: it holds while the key is there
--- @key    attempts        string[attempts]     when attempts were made and blocks began; kept for the longest window or the strike memory
--- @key    pages           zset[attempt_pages]  older attempts, where there are more than 12
--- @arg    tiers           group[1..8]          what is too often; a tier's number is its place, from 1
--- @arg    tiers.threshold count[1..10000]      the attempt that is refused and starts the block
--- @arg    tiers.window    duration[1us..3650d] time in which attempts are counted
--- @arg    tiers.block     duration[1ms..3650d] how long the block lasts, rounded up to a millisecond
--- @arg    escalation      group[0..8]          how long the first, second, ... block lasts; none: as long as the tier says
--- @arg    escalation.block duration[1ms..3650d] how long, rounded up to a millisecond
--- @arg    strike_memory   duration[1ms..3650d]=30d how long a block is remembered, from its beginning
--- @result allowed         bool                 whether the attempt may be made
--- @result reason          enum(none,blocked,tier) why not: a block that held, or a tier that starts one now; none when allowed
--- @result tier            count[0..8]          the tier that started the block: 2; 0 when allowed or blocked by hand
--- @result retry_after     duration             what the block has left, exact to the millisecond; 0 when allowed
--- @result strikes         count[0..64]         blocks within the strike memory, this one included: 0 to 64
--- @result tiers           group                a row for each tier
--- @result tiers.count     count[0..1000000]    attempts in the tier's window, with this one if it was recorded: 3
--- @result tiers.remaining count[0..10000]      attempts that may still be made: 1 when 3 are counted and the 5th is refused
--- @error  RLSTATE                              a key holds what this library does not write, or a block that never ends
local function attempt(bucket, attempts, pages, tiers, escalation, strike_memory_us)
  local left_ms, blocked_by = block_state.read(bucket)
  if not left_ms then
    return nil, blocked_by
  end
  local clock_us, blocked = clock.now_us(), left_ms > 0
  local judged, failure = tier_set.judge(attempts, pages, tiers, strike_memory_us, clock_us, blocked, not blocked)
  if not judged then
    return nil, failure
  end
  if blocked then
    return false, 'blocked', blocked_by, left_ms * 1000, judged.strikes, judged.rows
  end
  local block_us = tier_set.record(bucket, attempts, pages, tiers, judged, escalation, clock_us)
  if judged.tier == 0 then
    return true, 'none', 0, 0, judged.strikes, judged.rows
  end
  return false, 'tier', judged.tier, block_us, judged.strikes, judged.rows
end
