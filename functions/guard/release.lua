--- Releases the places that an admit call charged of limits of kind concurrency. Places that the holder does not have are skipped.
---
--- A caller that got no answer to the admit call does not know whether it will still arrive. With mark, such a call is refused: if the
--- holder lacks a place, admit takes nothing of it for that long. A holder that is marked keeps its mark.
--- @use clock limit holder_set
--- @subject                                        the subject of the call; each limit has its own key
--- @key    left           string[left:<holder>]    whether the holder is marked
--- @arg    limits         group(limit)[1..16]     the limits of kind concurrency
--- @arg    holder         text[64]                 the holder of the admit call
--- @arg    mark           duration[1ms..1h]?       how long an admit call of the holder is refused if a place is missing: 1m0s
--- @must   limits.kind == 'concurrency': only places are held
--- @result released       count[0..16]             number of limits whose places were released: 2 of 2
--- @error  RLARG                                   a limit is of another kind
--- @error  RLSTATE                                 a key holds data that its kind did not write
local function release(left, limits, limits_state, holder, mark_us)
  local now_us, released = clock.now_us(), 0
  local marked = mark_us and redis.call('GET', left)
  for i = 1, #limits do
    if holder_set.ends_us(limits_state[i], holder, now_us) > 0 then
      holder_set.remove(limits_state[i], holder)
      released = released + 1
    end
  end
  if mark_us and released < #limits and not marked then
    clock.store_for(left, '1', mark_us)
  end
  return released
end
