--- Gives a reserved job back after a delay.
--- @use clock
--- @key    delayed  zset[delayed] forever   jobs, with the time at which they wait again
--- @key    reserved zset[reserved] forever  jobs that workers have, with the time at which they come back
--- @arg    job      bytes[16384]            the reserved job
--- @arg    delay    duration[0us..30d]      when it waits again
--- @result released bool                    true
local function release(delayed, reserved, job, delay_us)
  redis.call('ZREM', reserved, job)
  redis.call('ZADD', delayed, clock.text(clock.now_us() + delay_us), job)
  return true
end
