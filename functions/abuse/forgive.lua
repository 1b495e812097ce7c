--- Forgets a subject's attempts, as after a successful login. A block and the strikes remain.
--- @key    bucket          zset[attempts:<name>] when attempts were made
--- @arg    name            text[32]?            a block of its own by this name, with its own attempts: login
--- @result existed         bool                 whether there was anything to forget
local function forgive(bucket, name)
  return redis.call('UNLINK', bucket) > 0
end
