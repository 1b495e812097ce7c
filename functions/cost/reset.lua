--- Forgets everything that a subject has spent and reserved, and its penalty.
---
--- A later settlement of an earlier reservation still records what it cost.
--- @subject                    whose money it is: a stable identity, never a session
--- @key    bucket      hash[spent:<unit>]  what the account has spent
--- @arg    unit        text[32]?           unit of the account: tokens; money when omitted
--- @result existed     bool                whether there was anything to reset
local function reset(bucket, unit)
  return redis.call('DEL', bucket) > 0
end
