--- Forgets what a subject took.
--- @key    bucket      string[counter]     what was taken in this window and in the one before it
--- @result existed     bool                whether there was anything to forget
local function sliding_counter_reset(bucket)
  return redis.call('DEL', bucket) > 0
end
