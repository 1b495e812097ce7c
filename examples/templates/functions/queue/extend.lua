--- Gives a worker more time for its job, or gives the job back.
--- @use clock
--- @key    jobs        hash[jobs] forever        'p:<id>' the payload of each job, 'a:<id>' how often it was handed out
--- @key    taken       zset[taken] forever       ids of jobs that workers have, with the time that they come back
--- @arg    id          text[64]                  the job
--- @arg    attempt     count[1..1000000]         the attempt that reserve returned
--- @arg    hidden      duration[0us..1d]         time from now until the job comes back; 0 gives it back at once
--- @result extended    bool                      false: done before, or another worker has the job now
--- @refused extended
local function extend(jobs, taken, id, attempt, hidden_us)
  local last = tonumber(redis.call('HGET', jobs, 'a:' .. id))
  if last ~= attempt then
    return false
  end
  redis.call('ZADD', taken, 'XX', clock.text(clock.now_us() + hidden_us), id)
  return true
end
