--- Extends the leases on the places that an admit call charged of limits of kind concurrency.
---
--- Each lease lasts its limit's window from now on. A place whose lease has ended is lost: it is not charged again, even if there
--- is room.
--- @use clock limit holder_set
--- @subject                                        the subject of the call; each limit has its own key
--- @arg    limits         group(limit)[1..16]     the limits of kind concurrency
--- @arg    holder         text[64]                 the holder of the admit call
--- @must   limits.kind == 'concurrency': only places are held
--- @result lost           count[0..16]             number of limits whose places the holder no longer has: 0 of 2
--- @error  RLARG                                   a limit is of another kind
--- @error  RLSTATE                                 a key holds data that its kind did not write
local function renew(limits, limits_state, holder)
  local now_us, lost = clock.now_us(), 0
  for i = 1, #limits do
    local own_ends_us, ends_us = holder_set.ends_us(limits_state[i], holder, now_us), now_us + limits[i].window_us
    if own_ends_us == 0 then
      lost = lost + 1
    elseif own_ends_us < ends_us then
      holder_set.extend(limits_state[i], holder, ends_us, now_us)
    end
  end
  return lost
end
