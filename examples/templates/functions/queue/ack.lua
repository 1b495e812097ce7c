--- Removes a job that is done.
--- @key    jobs        hash[jobs] forever        'p:<id>' the payload of each job, 'a:<id>' how often it was handed out
--- @key    taken       zset[taken] forever       ids of jobs that workers have, with the time that they come back
--- @arg    id          text[64]                  the job
--- @arg    attempt     count[1..1000000]         the attempt that reserve returned
--- @result removed     bool                      false: done before, or another worker has the job now
--- @refused removed
local function ack(jobs, taken, id, attempt)
  local last = tonumber(redis.call('HGET', jobs, 'a:' .. id))
  if last ~= attempt then
    return false
  end
  redis.call('ZREM', taken, id)
  redis.call('HDEL', jobs, 'p:' .. id, 'a:' .. id)
  return true
end
