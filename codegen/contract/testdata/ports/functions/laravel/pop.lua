-- Returns a job with one more attempt.
local function attempt(job)
  local payload = cjson.decode(job)
  payload.attempts = (tonumber(payload.attempts) or 0) + 1
  return cjson.encode(payload)
end

--- Reserves the first job, and counts the attempt in it.
---
--- A job that is no JSON object is handed out as it is: its worker ends it, and those behind it do not wait.
--- @use clock
--- @key    queue    list[queue] forever     jobs that wait, oldest first
--- @key    reserved zset[reserved] forever  jobs that workers have, with the time at which they come back
--- @key    notify   list[notify] forever    an element for each job that waits, for workers that block
--- @arg    after    duration[1s..1d]=90s    time for the work
--- @result found    bool                    whether there is a job
--- @result job      bytes[16384]            the job
--- @result reserved bytes[16384]            the job with its attempts: release and delete need it
local function pop(queue, reserved, notify, after_us)
  local job = redis.call('LINDEX', queue, 0)
  if not job then
    return false, '', ''
  end
  local ok, taken = pcall(attempt, job)
  if not ok then
    taken = job
  end
  redis.call('LPOP', queue)
  redis.call('ZADD', reserved, clock.text(clock.now_us() + after_us), taken)
  redis.call('LPOP', notify)
  return true, job, taken
end
