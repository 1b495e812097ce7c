--- Blocks a subject by hand. It is no strike, and never shortens a block: unblock first for that.
--- @use clock block_state
--- @key    bucket          string[block]        the block: it holds while the key is there
--- @arg    duration        duration[1ms..3650d] how long the block lasts, rounded up to a millisecond
--- @arg    reason          text[256]?           why, for people; status returns it
--- @result applied         bool                 whether this block holds; not when one that ends later does
--- @result retry_after     duration             what the block that holds has left, exact to the millisecond
--- @error  RLSTATE                              the key holds no block, or one that never ends
local function block(bucket, duration_us, reason)
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
