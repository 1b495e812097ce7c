--- Refills a subject's bucket.
--- @key    bucket      string[gcra]        the subject's bucket
--- @result existed     bool                whether there was anything to reset
local function gcra_reset(bucket)
  return redis.call('DEL', bucket) > 0
end
