--- Blocks a subject manually. It is not a strike and never shortens a block; call unblock first to shorten one.
--- @use clock block_state
--- @key    bucket          string[block:<name>] the block: active while the key exists
--- @arg    duration        duration[1ms..3650d] how long the block lasts, rounded up to a millisecond
--- @arg    reason          text[256]?           why, for operators; status returns it
--- @arg    name            text[32]?            a block of its own by this name, with its own attempts: login
--- @result applied         bool                 whether this block is the active one; false if a longer one is
--- @result retry_after     duration             time until the active block expires, exact to the millisecond
--- @error  RLSTATE                              a key holds data that this library did not write, or a block that never ends
local function block(bucket, duration_us, reason, name)
  local left_ms, no_block = block_state.read(bucket)
  if not left_ms then
    return nil, no_block
  end
  local block_ms = math.ceil(duration_us / 1000)
  if left_ms > block_ms then
    return false, left_ms * 1000
  end
  local value = 'manual'
  if reason then
    value = 'manual ' .. reason
  end
  clock.store(bucket, value, block_ms)
  return true, block_ms * 1000
end
