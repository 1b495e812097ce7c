--- Forgets all that a subject has spent and reserved, and its penalty.
---
--- A settlement of what was reserved before is recorded as of an unknown receipt.
--- @key    bucket      hash[charges]       the subject's charges
--- @result existed     bool                whether there was anything to forget
local function reset(bucket)
  return redis.call('DEL', bucket) > 0
end
