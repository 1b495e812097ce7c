--- Gives a job the lock of its digest, unless as many as limit have it.
--- @use clock changelog
--- @subject the application
--- @key    queued   list[queued:<digest>]   jobs that wait for the lock
--- @key    primed   list[primed:<digest>]   jobs that a server has taken, and that have no lock yet
--- @key    locked   hash[locked:<digest>]   jobs that have the lock, with the time of it
--- @key    digests  zset[digests] forever   digests that are locked, with the time of it
--- @key    expiring zset[expiring] forever  digests whose lock ends by itself, with its end
--- @key    changes  zset[changelog] forever the newest changes
--- @arg    digest   text[64]                checksum of the job's class and arguments
--- @arg    job      text[64]                the job
--- @arg    kind     enum(until_executed,until_expired) what ends the lock
--- @arg    limit    count[1..100]=1         most jobs of the digest that have the lock
--- @arg    ttl      duration[1s..30d]       how long the lock is kept
--- @result allowed  bool                    whether the job has the lock now
--- @result holders  count[0..100]           jobs that have the lock
local function lock(queued, primed, locked, digests, expiring, changes, digest, job, kind, limit, ttl_us)
  local now_us = clock.now_us()
  local holders = redis.call('HLEN', locked)
  if redis.call('HEXISTS', locked, job) == 1 then
    redis.call('LREM', queued, -1, job)
    redis.call('LREM', primed, 1, job)
    changelog.add(changes, now_us, 'Duplicate', digest, job)
    return true, holders
  end
  if holders >= limit then
    return false, holders
  end
  if kind == 'until_expired' then
    redis.call('ZADD', expiring, clock.text(now_us + ttl_us), digest)
  else
    redis.call('ZADD', digests, clock.text(now_us), digest)
  end
  redis.call('HSET', locked, job, clock.text(now_us))
  clock.extend(locked, ttl_us)
  redis.call('UNLINK', queued, primed)
  changelog.add(changes, now_us, 'Locked', digest, job)
  return true, holders + 1
end
