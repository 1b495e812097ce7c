--- Returns how many jobs are in the queue; writes nothing.
--- @flags  no-writes
--- @key    ready       list[ready] forever       ids of jobs that no worker has had, oldest first
--- @key    taken       zset[taken] forever       ids of jobs that workers have, with the time that they come back
--- @result ready       count[0..1000000]         jobs that no worker has had: 10
--- @result taken       count[0..1000000]         jobs that workers have, or have had too long: 2
local function peek(ready, taken)
  return redis.call('LLEN', ready), redis.call('ZCARD', taken)
end
