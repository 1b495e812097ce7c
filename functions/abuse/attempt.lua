--- Records an attempt, and blocks the subject if it is the threshold-th in a tier's window.
---
--- A block is checked first, so it lasts until it expires even when the windows are empty; attempts during a block are
--- not recorded. The attempt that starts a block is refused. When several tiers would start a block at once, the
--- longest starts, and it is one strike. A tier that has started a block counts from zero after it. So an attempt at
--- retry_after passes, unless it is the threshold-th of another tier or the threshold is 1.
---
--- With an escalation, the k-th block within the strike memory lasts the k-th duration instead of the tier's, and the
--- last duration repeats. A block is its key's expiry, so the resolution of retry_after is a millisecond.
---
--- All callers of a bucket count the same attempts, each for its own tiers.
--- @use clock block_state attempt_set
--- @key    bucket          string[block:<name>] the block: active while the key exists
--- @key    attempts        zset[attempts:<name>] when attempts were made
--- @key    strikes         list[strikes:<name>] when blocks began that tiers started
--- @arg    tiers           group[1..8]          how many attempts are too many; a tier's number is its position, from 1
--- @arg    tiers.threshold count[1..10000]      attempt that is refused and starts the block
--- @arg    tiers.window    duration[1ms..3650d] time in which attempts are counted
--- @arg    tiers.block     duration[1ms..3650d] how long the block lasts, rounded up to a millisecond
--- @arg    escalation      group[0..8]          how long the first, second, ... block lasts; the tier's own duration when empty
--- @arg    escalation.block duration[1ms..3650d] how long that block lasts, rounded up to a millisecond
--- @arg    strike_memory   duration[1ms..3650d]=30d how long a block counts as a strike, from its beginning
--- @arg    name            text[32]?            a block of its own by this name, with its own attempts: login
--- @result allowed         bool                 whether the attempt may be made
--- @result reason          enum(none,blocked,tier) why it is refused: an active block, or a tier that starts one now; none when allowed
--- @result tier            count[0..8]          tier that started the block: 2; 0 when allowed or blocked manually
--- @result retry_after     duration             time until the block expires, exact to the millisecond; 0 when allowed
--- @result strikes         count[0..64]         blocks within the strike memory, including this one: 0 to 64
--- @result tiers           group                one row per tier
--- @result tiers.count     count[0..1000000]    attempts in the tier's window, including this one if it was recorded: 3
--- @result tiers.remaining count[0..10000]      attempts left before the block: 1 when 3 are counted and the 5th is refused
--- @records the attempt, if no block was active: it starts one
--- @error  RLSTATE                              a key holds data that this library did not write, or a block that never ends
local function attempt(bucket, attempts, strikes, tiers, escalation, strike_memory_us, name)
  local left_ms, blocked_by = block_state.read(bucket)
  if not left_ms then
    return nil, blocked_by
  end
  local set, failure = attempt_set.check(attempts, strikes, tiers, strike_memory_us, clock.now_us(), left_ms > 0, left_ms == 0)
  if not set then
    return nil, failure
  end
  if left_ms > 0 then
    return false, 'blocked', blocked_by, left_ms * 1000, set.strikes, set.rows
  end
  local block_us = attempt_set.record(set, bucket, escalation)
  if set.tier == 0 then
    return true, 'none', 0, 0, set.strikes, set.rows
  end
  return false, 'tier', set.tier, block_us, set.strikes, set.rows
end
