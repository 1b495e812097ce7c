--- Hands a job to a worker: the oldest whose time is over, or the oldest that no worker has had. A job that comes back more than
--- two days ahead, twice the longest time for the work, was taken by a wrong clock: its time is over.
--- @use clock refusal
--- @key    jobs        hash[jobs] forever        'p:<id>' the payload of each job, 'a:<id>' how often it was handed out
--- @key    ready       list[ready] forever       ids of jobs that no worker has had, oldest first
--- @key    taken       zset[taken] forever       ids of jobs that workers have, with the time that they come back
--- @arg    hidden      duration[1ms..1d]         time for the work: no other worker gets the job meanwhile
--- @result found       bool                      whether there is a job
--- @result attempt     count[0..1000000]         how often it was handed out, with this: 1
--- @result id          text[0..64]               the job; ack and extend need it, and attempt
--- @result payload     text[0..16384]            its payload
--- @result retry_after duration                  wait until the next job comes back, if none is found; 0 if none is due
--- @refused found
--- @error  RLSTATE                               a job has no payload
local function reserve(jobs, ready, taken, hidden_us)
  local now_us = clock.now_us()
  local first = redis.call('ZRANGE', taken, '0', '0', 'WITHSCORES')
  local id, due_us = first[1], tonumber(first[2]) or 0
  local last = redis.call('ZRANGE', taken, '-1', '-1', 'WITHSCORES')
  if last[1] and (tonumber(last[2]) or 0) - now_us > 172800000000 then
    id = last[1]
    due_us = 0
  end
  if not id or due_us > now_us then
    id = redis.call('LINDEX', ready, '0')
  end
  if not id then
    return false, 0, '', '', math.max(due_us - now_us, 0)
  end
  local job = redis.call('HMGET', jobs, 'p:' .. id, 'a:' .. id)
  local payload, attempt = job[1], tonumber(job[2])
  if not payload or not attempt then
    return nil, refusal.state(jobs, 'lacks a job of the queue')
  end
  if id ~= first[1] and id ~= last[1] then
    redis.call('LPOP', ready)
  end
  attempt = math.min(attempt + 1, 1000000)
  redis.call('HSET', jobs, 'a:' .. id, attempt)
  redis.call('ZADD', taken, clock.text(now_us + hidden_us), id)
  return true, attempt, id, payload, 0
end
