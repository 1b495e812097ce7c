--- The head of a set of holders, which is stored in front of their places: the last fence, the time of the last change, when
--- the key expires, the places in use, until when that number holds, and how many powers of two the weights have.
---
--- The number holds until a lease ends. Without a place it holds for ever.
--- @lib holder_head
--- @state holder_head 1 '<last fence><last change><expiry><until><in use><powers>': little-endian doubles
local holder_head = {bytes = 48, forever_us = 9007199254740992}

-- Reports whether a stored number is whole and not negative.
function holder_head.whole(number)
  return number >= 0 and number <= 9007199254740992 and number % 1 == 0
end

function holder_head.pack(set)
  return struct.pack('<dddddd', set.fence, set.changed_us, set.expiry_us, set.until_us, set.in_use, set.powers)
end

-- Reports whether six numbers can be those of a head.
function holder_head.valid(fence, changed_us, expiry_us, until_us, in_use, powers)
  local fraction = fence % 1 + changed_us % 1 + expiry_us % 1 + until_us % 1 + in_use % 1 + powers % 1 -- NaN also for infinity
  return fraction == 0 and fence >= 0 and changed_us >= 0 and expiry_us >= 0 and until_us >= 0 and in_use >= 0 and powers >= 1 and
    powers <= 10 and fence + changed_us + expiry_us + until_us + in_use <= 45035996273704960
end

local function by_end(one, other)
  if one.ends_us == other.ends_us then
    return one.holder < other.holder
  end
  return one.ends_us < other.ends_us
end

-- Sorts places by the time that they end.
function holder_head.sort(places)
  table.sort(places, by_end)
end

return holder_head
