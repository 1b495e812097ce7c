--- Gives a job that waits another priority.
--- @key    wait        list[wait] forever         jobs without a priority, newest first
--- @key    prioritized zset[prioritized] forever  jobs with one, by priority and age
--- @key    counter     string[pc] forever         numbers the jobs with a priority
--- @arg    id          text[64]                   the job
--- @arg    priority    count[0..2097151]          0 for none; 1 comes before 2
--- @arg    first       bool?                      whether it comes before the others of its priority
--- @result changed     bool                       false: the job does not wait, or 10,000 jobs without a priority come before it
local function change(wait, prioritized, counter, id, priority, first)
  if redis.call('ZREM', prioritized, id) == 0 then
    if not redis.call('LPOS', wait, id, 'RANK', -1, 'MAXLEN', 10000) then
      return false
    end
    redis.call('LREM', wait, -1, id)
  end
  if priority == 0 then
    redis.call(first and 'RPUSH' or 'LPUSH', wait, id)
  elseif first then
    redis.call('ZADD', prioritized, priority * 4294967296, id)
  else
    local age = redis.call('INCR', counter)
    redis.call('ZADD', prioritized, priority * 4294967296 + age % 4294967296, id)
  end
  return true
end
