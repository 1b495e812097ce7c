--- Hands out the job that has been due for longest, and removes it.
--- @use clock
--- @key    due         zset[due] forever         ids of jobs by the time when they are due
--- @key    jobs        hash[jobs] forever        payloads by id
--- @result found       bool                      whether a job is due
--- @result id          text[0..64]               the job
--- @result payload     text[0..4096]             what is to be done
--- @result late        duration                  for how long it has been due
--- @result retry_after duration                  wait until the next job is due; 0 if one is found, or none waits
local function take(due, jobs)
  local now_us = clock.now_us()
  local first = redis.call('ZPOPMIN', due)
  local id = first[1]
  if not id then
    return false, '', '', 0, 0
  end
  local due_us = tonumber(first[2]) or now_us
  if due_us > now_us then
    return false, '', '', 0, due_us - now_us
  end
  local payload = redis.call('HGET', jobs, id) or ''
  redis.call('HDEL', jobs, id)
  return true, id, payload, now_us - due_us, 0
end
