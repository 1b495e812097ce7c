--- Forgets what a subject used in its period.
--- @key    bucket      string[quota]       what the subject used in this period
--- @result existed     bool                whether there was anything to reset
local function quota_reset(bucket)
  return redis.call('DEL', bucket) > 0
end
