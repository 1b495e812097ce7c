--- Moves jobs whose time has come from the delayed or the reserved ones to the queue, at most 1000.
--- @use clock
--- @key    queue    list[queue] forever     jobs that wait, oldest first
--- @key    delayed  zset[delayed] forever   jobs, with the time at which they wait again
--- @key    reserved zset[reserved] forever  jobs that workers have, with the time at which they come back
--- @key    notify   list[notify] forever    an element for each job that waits, for workers that block
--- @arg    from     enum(delayed,reserved)  where to look
--- @arg    most     count[1..1000]=1000     most jobs that are moved
--- @result moved    count[0..1000]          jobs that wait now
local function migrate(queue, delayed, reserved, notify, from, most)
  local source = delayed
  if from == 'reserved' then
    source = reserved
  end
  local jobs = redis.call('ZRANGEBYSCORE', source, '-inf', clock.text(clock.now_us()), 'LIMIT', 0, most)
  if #jobs > 0 then
    redis.call('ZREMRANGEBYRANK', source, 0, #jobs - 1)
    for i = 1, #jobs, 100 do
      redis.call('RPUSH', queue, unpack(jobs, i, math.min(i + 99, #jobs)))
      for _ = i, math.min(i + 99, #jobs) do
        redis.call('RPUSH', notify, 1)
      end
    end
  end
  return #jobs
end
