--- Forgets all that a subject has spent and reserved, and its penalty.
---
--- A settlement of what was reserved before is recorded as of an unknown receipt.
--- @key    bucket      hash[charges]       the subject's charges
--- @key    holds       zset[holds]         charges with a hold that are not settled
--- @result existed     bool                whether there was anything to forget
local function reset(bucket, holds)
  return redis.call('DEL', bucket, holds) > 0
end
