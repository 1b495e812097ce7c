--- Forgets a subject's attempts, as after a success. A block and the strikes stay.
--- @use attempt_log
--- @key    bucket          string[attempts]     when attempts were made and blocks began
--- @result existed         bool                 whether there was anything to forget
--- @error  RLSTATE                              the key holds what this library does not write
local function forgive(bucket)
  return attempt_log.forget(bucket)
end
