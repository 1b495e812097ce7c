--- Forgets a subject's attempts, as after a success. A block and the strikes stay.
--- @use attempt_log
--- @key    bucket          string[attempts]     when attempts were made and blocks began
--- @key    pages           zset[attempt_pages]  older attempts, where there are more than 12
--- @result existed         bool                 whether there was anything to forget
--- @error  RLSTATE                              the key holds what this library does not write
local function forgive(bucket, pages)
  return attempt_log.forget(bucket, pages)
end
