--- Moves jobs that are due to the queue, each once however many periods have passed.
--- @use clock
--- @key    due      zset[due] forever         jobs, with the time at which they are due
--- @key    every    hash[every] forever       how often each job comes
--- @key    waiting  list[waiting] forever     jobs for workers, oldest first
--- @arg    most     count[1..100]=100         most jobs that are moved
--- @result moved    list[0..100] of text[64]  the jobs
--- @result wait     duration                  until the next one is due; 0 if there is none
local function tick(due, every, waiting, most)
  local now_us = clock.now_us()
  local ids = redis.call('ZRANGEBYSCORE', due, '-inf', clock.text(now_us), 'WITHSCORES', 'LIMIT', 0, most)
  local moved = {}
  for i = 1, #ids, 2 do
    local id, due_us = ids[i], tonumber(ids[i + 1]) or now_us
    local period_us = tonumber(redis.call('HGET', every, id))
    if period_us and period_us > 0 then
      local passed = math.floor((now_us - due_us) / period_us)
      redis.call('ZINCRBY', due, (passed + 1) * period_us, id)
      redis.call('RPUSH', waiting, id)
      moved[#moved + 1] = id
    else
      redis.call('ZREM', due, id)
    end
  end
  local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
  local first_us = tonumber(first[2]) or now_us
  return moved, math.max(first_us - now_us, 0)
end
