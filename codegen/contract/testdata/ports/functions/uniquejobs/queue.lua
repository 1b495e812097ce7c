--- Queues a job for its digest, unless as many as limit are queued or locked.
--- @use clock changelog
--- @subject the application
--- @key    current  string[digest:<digest>]       the job that was queued last
--- @key    queued   list[queued:<digest>]         jobs that wait for the lock
--- @key    locked   hash[locked:<digest>]         jobs that have the lock, with the time of it
--- @key    changes  zset[changelog] forever       the newest changes
--- @arg    digest   text[64]                      checksum of the job's class and arguments
--- @arg    job      text[64]                      the job
--- @arg    limit    count[1..100]=1               most jobs of the digest that have the lock
--- @arg    ttl      duration[1s..30d]             how long the job may wait
--- @result outcome  enum(queued,duplicate,limited) duplicate: this job is queued or locked already. limited: others are
--- @result holder   text[64]                      the job that is queued now
--- @refused outcome limited
local function queue(current, queued, locked, changes, digest, job, limit, ttl_us)
  if redis.call('HEXISTS', locked, job) == 1 then
    return 'duplicate', job
  end
  local before = redis.call('GET', current)
  if before == job then
    return 'duplicate', job
  end
  local taken, waiting = redis.call('HLEN', locked), redis.call('LLEN', queued)
  if before and (taken >= limit or waiting >= limit) then
    return 'limited', before
  end
  clock.store_for(current, job, ttl_us)
  redis.call('LPUSH', queued, job)
  redis.call('LTRIM', queued, 0, 99)
  clock.extend(queued, ttl_us)
  changelog.add(changes, clock.now_us(), 'Queued', digest, job)
  return 'queued', job
end
