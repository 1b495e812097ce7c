--- Takes the lock from a job, and wakes one that waits for it.
--- @use clock changelog
--- @subject the application
--- @key    current  string[digest:<digest>] the job that was queued last
--- @key    queued   list[queued:<digest>]   jobs that wait for the lock; '1' wakes one
--- @key    primed   list[primed:<digest>]   jobs that a server has taken, and that have no lock yet
--- @key    locked   hash[locked:<digest>]   jobs that have the lock, with the time of it
--- @key    digests  zset[digests] forever   digests that are locked, with the time of it
--- @key    changes  zset[changelog] forever the newest changes
--- @arg    digest   text[64]                checksum of the job's class and arguments
--- @arg    job      text[64]                the job
--- @arg    kind     enum(until_executed,until_expired) what ends the lock; one that ends by itself stays
--- @result released bool                    false: other jobs have the lock, and this one no longer waits
local function unlock(current, queued, primed, locked, digests, changes, digest, job, kind)
  if redis.call('HEXISTS', locked, job) == 0 then
    redis.call('LREM', queued, -1, job)
    redis.call('LREM', primed, -1, job) -- rlfunc:ignore key-loop few jobs of a digest are primed at a time
    local others = redis.call('LLEN', queued) + redis.call('LLEN', primed) + redis.call('HLEN', locked)
    if others > 0 then
      return false
    end
  end
  if kind == 'until_executed' then
    redis.call('HDEL', locked, job)
    redis.call('UNLINK', current)
    if redis.call('HLEN', locked) == 0 then
      redis.call('UNLINK', locked, primed)
      redis.call('ZREM', digests, digest)
    elseif redis.call('LLEN', primed) == 0 then
      redis.call('UNLINK', primed)
    end
  else
    redis.call('ZREM', digests, digest)
  end
  redis.call('LPUSH', queued, '1')
  redis.call('LTRIM', queued, 0, 99)
  clock.extend(queued, 5000000)
  changelog.add(changes, clock.now_us(), 'Unlocked', digest, job)
  return true
end
