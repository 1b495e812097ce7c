--- Forgets a subject's attempts, as after a successful login. A block and the strikes remain.
--- @use attempt_log
--- @key    bucket          string[attempts]     when attempts were made and blocks began
--- @key    pages           zset[attempt_pages]  older attempts, if there are more than 12
--- @result existed         bool                 whether there was anything to forget
--- @error  RLSTATE                              a key holds data that this library did not write, or a block that never ends
local function forgive(bucket, pages)
  return attempt_log.forget(bucket, pages)
end
