--- Releases the places that an admit call charged of limits of kind concurrency. Places that the holder does not have are skipped.
--- @use clock limit holder_set
--- @key    bucket         any[places]              the subject of the call; each limit has its own key
--- @arg    limits         packed(limit)[1..16]     the limits of kind concurrency
--- @arg    holder         text[64]                 the holder of the admit call
--- @must   limits.kind be concurrency
--- @result released       count[0..16]             number of limits whose places were released: 2 of 2
--- @error  RLARG                                   a limit is of another kind
--- @error  RLSTATE                                 a key holds data that its kind did not write
local function release(bucket, limits, limits_state, holder) -- rlfunc:ignore unused-parameter the limits' keys begin as the bucket does
  local now_us, released = clock.now_us(), 0
  for i = 1, #limits do
    local set, own = holder_set.open(limits_state[i], holder, now_us)
    if not set then
      return nil, own
    end
    if own then
      holder_set.remove(set, own)
      released = released + 1
    end
  end
  return released
end
