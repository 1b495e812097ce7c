--- Schedules a job, if fewer than most wait.
---
--- A job that waits already keeps its time and payload, unless it is to be replaced. A refused call writes nothing.
--- @use clock
--- @key    due         zset[due] forever         ids of jobs by the time when they are due
--- @key    jobs        hash[jobs] forever        payloads by id
--- @arg    id          text[64]                  the job
--- @arg    payload     text[0..4096]             what is to be done
--- @arg    delay       duration[0us..366d]       wait until it is due
--- @arg    most        count[1..100000]=10000    most jobs that wait
--- @arg    replace     bool=false                whether a job of this id that waits is replaced
--- @result outcome     enum(scheduled,replaced,known,full) known: a job of this id waits already. full: try later
--- @result waiting     count[0..100000]          jobs that wait after the call
--- @result due_after   duration                  wait until this job is due; 0 when refused
--- @refused outcome full
local function schedule(due, jobs, id, payload, delay_us, most, replace)
  local now_us = clock.now_us()
  local waiting = redis.call('ZCARD', due)
  local known_us = tonumber(redis.call('ZSCORE', due, id))
  if known_us and not replace then
    return 'known', waiting, math.max(known_us - now_us, 0)
  end
  if known_us then
    redis.call('ZADD', due, 'XX', clock.text(now_us + delay_us), id)
    redis.call('HSET', jobs, id, payload)
    return 'replaced', waiting, delay_us
  elseif waiting >= most then
    return 'full', waiting, 0
  end
  redis.call('ZADD', due, 'NX', clock.text(now_us + delay_us), id)
  redis.call('HSET', jobs, id, payload)
  return 'scheduled', waiting + 1, delay_us
end
