--- Cancels a job that waits, and returns its payload.
--- @use clock
--- @key    due         zset[due] forever         ids of jobs by the time when they are due
--- @key    jobs        hash[jobs] forever        payloads by id
--- @arg    id          text[64]                  the job
--- @arg    overdue     bool=true                 whether a job that is due already is cancelled, too
--- @result cancelled   bool                      false: it does not wait, or is due
--- @result payload     text[0..4096]             what was to be done
--- @refused cancelled
local function cancel(due, jobs, id, overdue)
  local due_us = tonumber(redis.call('ZSCORE', due, id))
  if not due_us then
    return false, ''
  end
  if not overdue and due_us <= clock.now_us() then
    return false, ''
  end
  local payload = redis.call('HGET', jobs, id)
  redis.call('ZREM', due, id)
  if not payload then
    return true, ''
  end
  redis.call('HDEL', jobs, id)
  return true, payload
end
