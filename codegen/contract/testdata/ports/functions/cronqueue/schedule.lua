--- Schedules a job, or changes how often it comes.
--- @use clock
--- @key    due      zset[due] forever     jobs, with the time at which they are due
--- @key    every    hash[every] forever   how often each job comes
--- @arg    id       text[64]              the job
--- @arg    period   duration[1s..366d]    how often it comes
--- @arg    offset   duration[0us..366d]=0s how long after a whole period since 1970
--- @arg    replace  bool?                 whether to change a job that is there
--- @result scheduled bool                 false: the job is there
--- @result next     time                  when it is due
--- @refused scheduled
local function schedule(due, every, id, period_us, offset_us, replace)
  local now_us = clock.now_us()
  local next_us = tonumber(redis.call('ZSCORE', due, id))
  if next_us and not replace then
    return false, next_us
  end
  next_us = math.floor((now_us - offset_us) / period_us) * period_us + period_us + offset_us
  redis.call('ZADD', due, clock.text(next_us), id)
  redis.call('HSET', every, id, clock.text(period_us))
  return true, next_us
end
