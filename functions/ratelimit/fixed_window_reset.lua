--- Ends a subject's window.
--- @key    bucket      string[window]      what the subject took in this window
--- @result existed     bool                whether there was anything to forget
local function fixed_window_reset(bucket)
  return redis.call('DEL', bucket) > 0
end
