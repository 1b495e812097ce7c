--- Forgets a subject's attempts, as after a success. A block and the strikes stay.
--- @key    bucket          string[attempts]     when the attempts were made
--- @result existed         bool                 whether there was anything to forget
local function forgive(bucket)
  return redis.call('DEL', bucket) > 0
end
