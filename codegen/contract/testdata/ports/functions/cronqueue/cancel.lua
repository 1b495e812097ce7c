--- Removes a job from the schedule. One that waits for a worker already still comes once.
--- @key    due      zset[due] forever     jobs, with the time at which they are due
--- @key    every    hash[every] forever   how often each job comes
--- @arg    id       text[64]              the job
--- @result canceled bool                  whether it was scheduled
local function cancel(due, every, id)
  redis.call('HDEL', every, id)
  return redis.call('ZREM', due, id) == 1
end
