--- Forgets a subject's attempts, as after a successful login. A block and the strikes remain.
--- @key    bucket          zset[attempts]       when attempts were made
--- @result existed         bool                 whether there was anything to forget
local function forgive(bucket)
  return redis.call('UNLINK', bucket) > 0
end
