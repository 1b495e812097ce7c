--- Ends a subject's active window.
--- @key    bucket      string[window]      what the subject used in this window
--- @result existed     bool                whether there was anything to reset
local function fixed_window_reset(bucket)
  return redis.call('DEL', bucket) > 0
end
