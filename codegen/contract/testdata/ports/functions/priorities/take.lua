--- Moves the next job to those that workers have.
--- @key    jobs        hash[jobs] forever         data of the jobs
--- @key    wait        list[wait] forever         jobs without a priority, newest first
--- @key    prioritized zset[prioritized] forever  jobs with one, by priority and age
--- @key    counter     string[pc] forever         numbers the jobs with a priority
--- @key    active      list[active] forever       jobs that workers have
--- @result found       bool                       whether there is a job
--- @result id          text[0..64]                the job
--- @result data        bytes[16384]               its data
local function take(jobs, wait, prioritized, counter, active)
  local id = redis.call('RPOPLPUSH', wait, active)
  if not id then
    local first = redis.call('ZPOPMIN', prioritized)
    if #first == 0 then
      redis.call('DEL', counter)
      return false, '', ''
    end
    id = first[1]
    redis.call('LPUSH', active, id)
  end
  return true, id, redis.call('HGET', jobs, id) or ''
end
