--- Forgets every admission and receipt of a subject.
--- @key    bucket      list[log]           the subject's admissions
--- @key    receipts    zset[receipts]      receipts that were counted, by time
--- @result existed     bool                whether there was anything to reset
local function sliding_log_reset(bucket, receipts)
  return redis.call('DEL', bucket, receipts) > 0
end
