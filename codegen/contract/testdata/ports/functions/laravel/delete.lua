--- Removes a reserved job that is done.
--- @key    reserved zset[reserved] forever  jobs that workers have, with the time at which they come back
--- @arg    job      bytes[16384]            the reserved job
--- @result deleted  bool                    false: it has come back
local function delete(reserved, job)
  return redis.call('ZREM', reserved, job) == 1
end
