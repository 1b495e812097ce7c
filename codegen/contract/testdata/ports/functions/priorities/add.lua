--- Adds a job, unless one of its id is there.
--- @key    jobs        hash[jobs] forever         data of the jobs
--- @key    wait        list[wait] forever         jobs without a priority, newest first
--- @key    prioritized zset[prioritized] forever  jobs with one, by priority and age
--- @key    counter     string[pc] forever         numbers the jobs with a priority
--- @key    marker      zset[marker] forever       wakes workers that wait
--- @arg    id          text[64]                   the job
--- @arg    data        bytes[16384]               what the worker gets
--- @arg    priority    count[0..2097151]=0        0 for none; 1 comes before 2
--- @result added       bool                       false: the job is there already
--- @refused added
local function add(jobs, wait, prioritized, counter, marker, id, data, priority)
  if redis.call('HSETNX', jobs, id, data) == 0 then
    return false
  end
  if priority == 0 then
    redis.call('LPUSH', wait, id)
  else
    local age = redis.call('INCR', counter)
    redis.call('ZADD', prioritized, priority * 4294967296 + age % 4294967296, id)
  end
  redis.call('ZADD', marker, 0, '0')
  return true
end
