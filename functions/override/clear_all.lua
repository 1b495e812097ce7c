--- Clears all overrides of a namespace, also those that cannot be read.
--- @key    bucket          hash[overrides]      the overrides of a namespace, by subject
--- @result existed         bool                 whether there was anything to clear
local function clear_all(bucket)
  return redis.call('DEL', bucket) > 0
end
