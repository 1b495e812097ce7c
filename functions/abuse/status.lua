--- Returns whether a subject is blocked, by which tier and for how long, and its counts; writes nothing.
--- @use clock block_state attempt_set
--- @flags  no-writes
--- @key    bucket          string[block:<name>] the block: active while the key exists
--- @key    attempts        zset[attempts:<name>] when attempts were made
--- @key    strikes         list[strikes:<name>] when blocks began that tiers started
--- @arg    tiers           group[0..8]          tiers to count for, as in attempt
--- @arg    tiers.threshold count[1..10000]      attempt that starts the tier's block
--- @arg    tiers.window    duration[1ms..3650d] time in which attempts are counted
--- @arg    strike_memory   duration[1ms..3650d]=30d how long a block counts as a strike, from its beginning
--- @arg    name            text[32]?            a block of its own by this name, with its own attempts: login
--- @result blocked         bool                 whether a block is active
--- @result tier            count[0..8]          tier that started it: 2; 0 when not blocked, or blocked manually
--- @result reason          text[0..256]         reason given to block; empty without one
--- @result retry_after     duration             time until the block expires, exact to the millisecond; 0 when not blocked
--- @result strikes         count[0..64]         blocks within the strike memory: 0 to 64
--- @result tiers           group                one row per tier
--- @result tiers.count     count[0..1000000]    attempts in the tier's window: 3
--- @error  RLSTATE                              a key holds data that this library did not write, or a block that never ends
local function status(bucket, attempts, strikes, tiers, strike_memory_us, name) -- rlfunc:ignore key-loop 64 strikes at most
  local left_ms, tier, reason = block_state.read(bucket)
  if not left_ms then
    return nil, tier
  end
  local set, failure = attempt_set.check(attempts, strikes, tiers, strike_memory_us, clock.now_us(), left_ms > 0, false)
  if not set then
    return nil, failure
  end
  return left_ms > 0, tier, reason, left_ms * 1000, set.strikes, set.rows
end
