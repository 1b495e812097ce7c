--- Clears all overrides of a namespace, including unreadable ones.
--- @subject                     one name for each namespace, under which its overrides are kept
--- @key    bucket          hash[overrides]      overrides of a namespace, by subject and budget
--- @result existed         bool                 whether there was anything to clear
local function clear_all(bucket)
  return redis.call('DEL', bucket) > 0
end
