--- Forgets what a subject used.
--- @key    bucket      string[counter]     what was used in this window and in the previous one
--- @result existed     bool                whether there was anything to reset
local function sliding_counter_reset(bucket)
  return redis.call('DEL', bucket) > 0
end
